import math
import tracemalloc

import numpy as np
import pytest

from sumpool.documents.document import Document, TextBlockKind
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.ranking.features import FEATURES, outline, ranks, sentence_features
from sumpool.ranking.selection import find_candidates
from sumpool.text.language import content_prefixes, split_words
from sumpool.text.word_graph import SentenceWords, WordGraph
from tests.conftest import story
from tests.ranking.planted import SPLITTER, featured

TEXT = """# Packets of hosts

Hosts send packets to gateways. The gateways drop some packets, and then the hosts send them again.

Routers are slow.

## Slow routers

- Slow routers keep the packets of hosts in a buffer.
- A printer has 12 lights on it (really).
"""


def column(name: str) -> list[float]:
    values: list[float] = featured(TEXT, "Gateways and hosts")[0].values[:, FEATURES.index(name)].tolist()
    return values


def test_every_candidate_has_every_feature() -> None:
    features, texts = featured(TEXT, "Gateways and hosts")
    assert [text.split()[0] for text in texts] == ["Hosts", "The", "Slow", "A"]
    assert features.values.shape == (4, len(FEATURES))
    assert features.words[2][:3] == ("slow", "routers", "keep")
    assert features.headings[0] == ("packets", "of", "hosts")
    assert features.headings[2] == ("slow", "routers")
    assert len(set(FEATURES)) == len(FEATURES)


def test_values_of_a_document_counted_by_hand() -> None:
    for name, expected in [
        ("position", [0, 0.2, 0.6, 0.8]),
        ("log_index", [0, math.log(2), math.log(4), math.log(5)]),
        ("log_index_from_end", [math.log(5), math.log(4), math.log(2), 0]),
        ("index_in_section", [0, 1, 0, 1]),
        ("log_paragraph_in_section", [0, 0, 0, math.log(2)]),
        ("index_in_paragraph", [0, 1, 0, 0]),
        ("paragraph_size", [2, 2, 1, 1]),
        ("from_end_of_paragraph", [1, 0, 0, 0]),
        ("is_list_item", [0, 0, 1, 1]),
        ("section_position", [0, 0, 0.5, 0.5]),
        ("section_share", [0.6, 0.6, 0.4, 0.4]),
        ("is_before_headings", [0, 0, 0, 0]),
        ("log_sections", [math.log(2)] * 4),
        ("log_words", [math.log(6), math.log(13), math.log(11), math.log(9)]),
        ("digits", [0, 0, 0, 2 / 39]),
        ("capitals", [1 / 5, 1 / 12, 1 / 10, 1 / 8]),
        ("brackets", [0, 0, 0, 1]),
        ("commas", [0, 1 / 12, 0, 0]),
        ("ends_with_full_stop", [1, 1, 1, 1]),
        ("ends_with_colon", [0, 0, 0, 0]),
        ("is_question", [0, 0, 0, 0]),
        ("starts_in_lower_case", [0, 0, 0, 0]),
        ("mean_words", [(5 + 12 + 3 + 10 + 8) / 5] * 4),
        ("log_words_before", [0, math.log(6), math.log(21), math.log(31)]),
        ("title_in_opening", [1 / 3, 1 / 3, 0, 0]),
        ("is_in_frame", [1, 1, 0, 0]),
        ("title_overlap", [2 / 4, 2 / 8, 1 / 6, 0]),
        ("title_recall", [1, 1, 1 / 2, 0]),
        ("has_title", [1, 1, 1, 1]),
        ("heading_overlap", [math.log(2) * share for share in (2 / 4, 2 / 8, 4 / 6, 0)]),
        ("section_overlap", [1, 1, 1, 0]),
        ("first_overlap", [1, 1, 1, 1]),
        ("previous_overlap", [0, 4 / 8, 2 / 6, 0]),
        ("first_mentions", [1, 4 / 8, 2 / 6, 1]),
    ]:
        assert column(name) == pytest.approx(expected, abs=1e-6), name


def test_centrality_is_lexrank_of_all_sentences_of_prose_and_of_the_frame() -> None:
    sentences = [line for line in TEXT.replace(". The", ".\nThe").split("\n") if line.endswith(".")]
    graph = WordGraph.of(SentenceWords.of(content_prefixes(split_words(sentence)) for sentence in sentences))
    expected = np.log(5 * graph.lexrank())
    assert column("centrality") == pytest.approx(expected[[0, 1, 3, 4]].tolist(), abs=1e-6)
    frame = graph.among(np.array([True, True, False, False, False]))
    assert column("frame_centrality")[:2] == pytest.approx(np.log(2 * frame.lexrank()).tolist(), abs=1e-6)
    assert np.isnan(column("frame_centrality")[2:]).all()
    assert column("paragraph_centrality") == pytest.approx([expected[:2].mean()] * 2 + expected[3:].tolist(), abs=1e-6)
    long, _ = featured(" ".join(f"Host {number} sends packets to the gateway." for number in range(50)))
    assert np.flatnonzero(long.values[:, FEATURES.index("is_in_frame")]).tolist() == [*range(15), *range(46, 50)]


def test_a_document_without_prose_has_no_rows() -> None:
    features, _ = featured("# A heading\n\n```\ncode()\n```\n")
    assert features.values.shape == (0, len(FEATURES))
    assert featured("")[0].values.shape == (0, len(FEATURES))


@pytest.mark.slow
def test_memory_is_a_multiple_of_that_of_the_table() -> None:
    sentences = source_sentences(Document("a", story(1, 6000)), SPLITTER)
    candidates = find_candidates(sentences)
    sentence_features(sentences[:40], candidates[:20], "", "en")
    tracemalloc.start()
    features = sentence_features(sentences, candidates, "", "en")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(features) > 5000
    assert peak < 4 * features.values.nbytes


def test_sections_and_paragraphs_are_numbered() -> None:
    kinds: tuple[tuple[TextBlockKind, int], ...] = (
        ("paragraph", 0),
        ("heading", 1),
        ("paragraph", 2),
        ("paragraph", 2),
        ("code", 3),
        ("list_item", 4),
    )
    sentences = [SourceSentence(f"text {kind}", 0, 1, block, kind) for kind, block in kinds]
    places = outline(sentences)
    assert places.indices.tolist() == [0, 2, 3, 5]
    assert places.section.tolist() == [0, 1, 1, 1]
    assert places.paragraph.tolist() == [0, 1, 1, 2]
    assert places.is_item.tolist() == [False, False, False, True]
    assert places.headings == ("", "text heading")
    assert outline([]).indices.tolist() == []


def test_ranks_are_shares_of_smaller_values() -> None:
    assert ranks(np.array([3.0, 1.0, 2.0])).tolist() == [1, 0, 0.5]
    assert ranks(np.array([3.0])).tolist() == [0]
