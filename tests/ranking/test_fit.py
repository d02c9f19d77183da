from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.boosting import Boosting
from sumpool.ranking.features import FEATURES, SentenceFeatures
from sumpool.ranking.fit import (
    Fitting,
    fit_choice,
    fit_cues,
    fit_ranker,
    frequent_cues,
    labelled_example,
    sentence_labels,
    sentence_weights,
    targets,
    with_abstract,
)
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.ranker import Ranker, cue_scores, sentence_cues
from sumpool.ranking.sentence_selector import SentenceSelector
from tests.ranking.planted import SPLITTER, WORDS, example, marked

CONFIG = Fitting(
    min_documents=5, boosting=Boosting(trees=20, leaves=4, min_rows=5), choice=Boosting(trees=40, leaves=4, min_rows=5)
)


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return fit_ranker([example(seed) for seed in range(30)], CONFIG)


@pytest.fixture(scope="module")
def chosen(ranker: Ranker) -> Ranker:
    return fit_choice(ranker, [marked(seed) for seed in range(60)], CONFIG)


def test_all_documents_weigh_the_same() -> None:
    examples = [*(example(seed, "many") for seed in range(9)), example(9, "few").sample(4, (1,))]
    weights = sentence_weights(examples)
    parts = np.split(weights, np.cumsum([len(item.labels) for item in examples])[:-1])
    assert weights.mean() == pytest.approx(1)
    assert [part.sum() for part in parts] == pytest.approx([len(weights) / 10] * 10)


def test_targets_are_relative_to_the_document() -> None:
    values = targets([example(1), example(2)])
    first = len(example(1).labels)
    assert values[:first].mean() == pytest.approx(0)
    assert values[:first] == pytest.approx(example(1).labels - example(1).labels.mean())


def preferences(ranker: Ranker, features: SentenceFeatures) -> NDArray[np.float64]:
    return ranker.predict_choice(ranker.inputs(features)).combine(ranker.score(features))


def test_choice_learns_from_marks(ranker: Ranker, chosen: Ranker, tmp_path: Path) -> None:
    assert ranker.choice is None
    assert chosen.choice
    found = [int(preferences(chosen, marked(seed).features).argmax()) for seed in range(100, 120)]
    assert found == [int(marked(seed).preference.argmax()) for seed in range(100, 120)]
    table = np.hstack(chosen.inputs(marked(100).features).tables)
    junk = chosen.choice["junk"].predict(table)
    assert junk[0] > 0.8 > 0.3 > junk[1:].max()
    inputs = chosen.inputs(marked(100).features)
    costs = chosen.predict_choice(inputs).costs
    dependent = int(marked(100).dependence.argmax())
    assert min(costs[0], costs[dependent]) > np.delete(costs, [0, dependent]).max()
    values, *others = (table.copy() for table in inputs.tables)
    values[:, FEATURES.index("starts_in_lower_case")] = 1
    assert (chosen.predict_choice(replace(inputs, tables=(values, *others))).costs > costs).all()
    np.testing.assert_array_equal(chosen.score(example(1).features), ranker.score(example(1).features))
    (tmp_path / RANKER).write_bytes(chosen.to_bytes())
    again = Ranker.load(tmp_path)
    features = example(1).features
    np.testing.assert_array_equal(preferences(again, features), preferences(chosen, features))


def test_documents_with_structure_have_the_sentences_that_readers_want(chosen: Ranker) -> None:
    blocks = [TextBlock("Part", "heading", 1)]
    blocks += [TextBlock(f"The {name} of the buffer is a signal in the window.") for name in WORDS]
    blocks[9] = TextBlock("- We describe the packet and the router for the channel.", "list_item", 1)
    document = Document.from_parsed("a.html", ParsedDocument(tuple(blocks)))
    sentences = source_sentences(document, SPLITTER)
    selector = SentenceSelector(chosen)
    candidates = selector.candidates(document, sentences, "en")
    (first, *_) = selector.select(candidates, words=10)
    assert first == (9, "We describe the packet and the router for the channel.")
    target = LengthTarget(3, in_sentences=True, tokens=0)
    assert len(selector.select(candidates, target=target)) == 3


def test_cues_of_headings_are_a_quarter_of_those_of_sentences() -> None:
    config = replace(CONFIG, cues=8)
    cues = fit_ranker([example(seed) for seed in range(30)], config).cues
    assert (len(cues.sentence), len(cues.heading)) == (8, 2)


def test_choice_needs_marks(ranker: Ranker) -> None:
    with pytest.raises(ValueError, match="the ranker must have learnt from marks of readers, got one without"):
        preferences(ranker, example(1).features)


def test_choice_needs_judged_sentences(ranker: Ranker) -> None:
    none = marked(1)
    unseen = replace(none, shown=~none.shown, judged=~none.judged)
    with pytest.raises(ValueError, match="examples must have marks of at least one sentence, got none"):
        fit_choice(ranker, [unseen], CONFIG)


TEXT = "# Hosts\n\n" + " ".join(f"Host {number} sends packets to the gateway number {number}." for number in range(30))


def test_all_sentences_of_prose_have_labels() -> None:
    reference = "Host 7 sends packets to the gateway number 7."
    example = labelled_example(Document("a", TEXT), reference, "en", str.split, "net")
    assert len(example.features) == len(example.labels) == 30
    assert example.labels.argmax() == 7
    assert (example.labels[7], example.kind) == (1.5, "net")


def test_a_sample_keeps_the_best_and_is_repeatable() -> None:
    example = labelled_example(Document("a", TEXT), "Host 7 sends.", "en", str.split)
    sample = example.sample(10, (1, 2))
    assert len(sample.labels) == len(sample.features) == 10
    assert sample.labels.max() == example.labels.max()
    np.testing.assert_array_equal(sample.features.values, example.sample(10, (1, 2)).features.values)
    assert example.sample(30, (1,)) is example


def test_the_summary_begins_a_document_under_a_heading() -> None:
    reference = "Every host sends packets to its gateway. No gateway sends packets to a host."
    example = labelled_example(with_abstract(Document("a", TEXT), reference), reference, "en", str.split)
    assert example.features.headings[:3] == (("abstract",), ("abstract",), ("hosts",))
    assert sorted(example.labels.argsort()[-2:]) == [0, 1]


def test_labels_are_precisions_in_words_and_pairs() -> None:
    reference = "hosts send packets and hosts send frames"
    labels = {"hosts send frames": 0.5 + 1, "hosts hosts hosts": 0.5 * 2 / 3, "send hosts": 0.5, "frames": 0.5}
    labels |= {"gateways": 0, "": 0}
    assert sentence_labels([*labels], reference, str.split).tolist() == pytest.approx([*labels.values()])


def test_cues_are_words_pairs_and_openings() -> None:
    assert sentence_cues(["this", "paper", "is", "this"]) == {
        *("this", "paper", "is", "this paper", "paper is", "is this", "^this", "^this paper", "^this paper is")
    }
    assert sentence_cues([]) == set()


def test_the_score_is_the_sum_of_weights_over_the_root_of_their_number() -> None:
    weights = {"^we": 2.0, "we": 1.0, "see": -1.0}
    scores = cue_scores(weights, [["we", "show"], ["see", "there"], ["none"], []])
    assert scores.tolist() == pytest.approx([3 / 2**0.5, -1, 0, 0])


def test_cues_are_frequent_in_two_kinds() -> None:
    documents = [[["we", "send"]], [["we", "drop"]], [["we", "paint"]], [["we", "paint"]]]
    kinds = ["net", "net", "art", "art"]
    assert frequent_cues(documents, kinds, minimum=2, maximum=9) == ["^we", "we"]
    assert frequent_cues(documents, kinds, minimum=2, maximum=1) == ["^we"]
    assert "paint" in frequent_cues(documents, ["all"] * 4, minimum=2, maximum=9)


def test_weights_solve_the_ridge_regression() -> None:
    generator = np.random.default_rng(0)
    sentences = [generator.choice(["a", "b", "c", "d"], size=5).tolist() for _ in range(60)]
    targets, weights = generator.normal(size=60), generator.uniform(0.5, 2, size=60)
    cues = ["^a", "a", "a b", "b", "c"]
    known = [[cue for cue in cues if cue in sentence_cues(words)] for words in sentences]
    matrix = np.array([[(cue in row) / max(len(row), 1) ** 0.5 for cue in cues] for row in known])
    centred = targets - np.average(targets, weights=weights)
    expected = np.linalg.solve(matrix.T @ (weights[:, None] * matrix) + 0.7 * np.eye(5), matrix.T @ (weights * centred))
    fitted = fit_cues(cues, sentences, targets, weights, 0.7)
    np.testing.assert_allclose([fitted[cue] for cue in cues], expected, atol=1e-4)
    np.testing.assert_allclose(cue_scores(fitted, sentences), matrix @ expected, atol=1e-3)
