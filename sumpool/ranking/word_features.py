"""Features of sentences by their words: centrality, words in common with other parts of the document, and style.

No list of words takes part but the function words of a language.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.outline import Outline
from sumpool.text.language import ENGLISH
from sumpool.text.word_graph import SentenceWords, WordGraph
from sumpool.text.words import content_prefixes

Values = NDArray[np.float64]
"""A value for each sentence of prose, (prose,)."""
Item = TypeVar("Item")

_FRAME_START, _FRAME_END = 0.3, 0.08
"""Shares of the document that are its beginning and end."""
_FIRST = 5
"""Sentences at the beginning that all others are compared with."""
_OPENING = 3
"""First content words of a sentence."""
_COMMON = 15
"""Commonest content words of the document."""
_CHARACTER = re.compile(
    r"(?P<digit>\d)|(?P<capital>\b[A-Z])|(?P<straight>[\"'])|(?P<curly>[`\u201c\u201d\u2018\u2019])|(?P<mark>[^\w\s.,;:()-])"
)
"""Characters that are counted."""


def style_features(texts: Sequence[str], words: Iterable[Sequence[str]]) -> dict[str, Values]:
    """Measure the characters and the length of sentences.

    Args:
        texts: The sentences of prose.
        words: Their words.
    """
    counts = [Counter(match.lastgroup for match in _CHARACTER.finditer(text)) for text in texts]
    characters = np.maximum(_counts(texts, len), 1)
    sizes = _counts(words, len)
    divisor = np.maximum(sizes, 1)
    return {
        "log_words": np.log1p(sizes),
        "word_length": _counts(words, lambda sentence: sum(map(len, sentence))) / divisor,
        "digits": _counts(counts, lambda count: count["digit"]) / characters,
        "capitals": _counts(counts, lambda count: count["capital"]) / divisor,
        "brackets": _counts(texts, lambda text: text.count("(") + text.count("[")),
        "commas": _counts(texts, lambda text: text.count(",")) / divisor,
        "quotes": _counts(counts, lambda count: count["straight"] + count["curly"]) / divisor,
        "marks": _counts(counts, lambda count: count["curly"] + count["mark"]) / characters,
        "ends_with_full_stop": _counts(texts, lambda text: text.endswith((".", "\u3002"))),
        "ends_with_colon": _counts(texts, lambda text: text.endswith((":", "\uff1a"))),
        "is_question": _counts(texts, lambda text: text.endswith(("?", "\uff1f"))),
        "starts_in_lower_case": _counts(texts, lambda text: text[:1].islower()),
        "log_words_before": np.log1p(np.cumsum(sizes) - sizes),
        "log_document_words": np.full(len(texts), np.log1p(sizes.sum())),
        "mean_words": np.full(len(texts), sizes.mean() if len(texts) else 0.0),
    }


def lexical_features(
    words: Iterable[Sequence[str]],
    headings: Sequence[Sequence[str]],
    title: Sequence[str],
    structure: Outline,
    language: str = ENGLISH,
) -> Iterator[Mapping[str, Values]]:
    """Measure centrality, frequency and overlap of the content words of sentences, some features at a time.

    Args:
        words: Words of each sentence of prose.
        headings: Words of the heading of each section.
        title: Words of the title.
        structure: Outline of the document.
        language: Code of its language.
    """
    content = SentenceWords(content_prefixes(sentence, language) for sentence in words)
    graph, columns = WordGraph.of(content)
    weights = _heading_weights(columns, headings, language)
    title_words = _members(columns, content_prefixes(title, language))
    yield _centralities(graph, structure)
    yield _frequencies(graph)
    yield _openings(graph, columns, content, title_words)
    yield {
        "title_overlap": _share(graph, title_words),
        "title_recall": graph.sum_by_sentence(title_words[graph.word]) / max(title_words.sum(), 1),
        "has_title": np.full(graph.sentences, float(bool(title))),
        "heading_overlap": _mean(graph, weights[graph.word]),
        "section_overlap": _section_overlap(graph, columns, headings, structure, language),
        "first_overlap": _share(graph, (np.bincount(graph.word[graph.sentence < _FIRST], minlength=graph.words) > 0)),
        "previous_overlap": _previous_overlap(graph),
    }


def _centralities(graph: WordGraph, structure: Outline) -> dict[str, Values]:
    count = graph.sentences
    position = np.arange(count) / max(count, 1)
    frame = (position < _FRAME_START) | (position >= 1 - _FRAME_END)
    centrality = np.log(np.maximum(graph.lexrank() * count, 1e-3))
    among = np.full(count, np.nan)
    among[frame] = np.log(np.maximum(graph.among(frame).lexrank() * frame.sum(), 1e-3))
    sizes = np.maximum(np.bincount(structure.paragraph), 1)
    frame_ranks = np.full(count, np.nan)
    frame_ranks[frame] = ranks(among[frame])
    return {
        "centrality": centrality,
        "centrality_rank": ranks(centrality),
        "frame_centrality": among,
        "frame_centrality_rank": frame_ranks,
        "is_in_frame": frame.astype(np.float64),
        "paragraph_centrality": (np.bincount(structure.paragraph, centrality) / sizes)[structure.paragraph],
    }


def _frequencies(graph: WordGraph) -> dict[str, Values]:
    """Measure how common the words of a sentence are in the document."""
    total = np.bincount(graph.word, graph.count, graph.words)
    common = np.zeros(graph.words)
    common[np.argsort(-total, kind="stable")[:_COMMON]] = 1.0
    logarithm = np.log(np.maximum(total, 1))[graph.word]
    maximum = np.zeros(graph.sentences)
    np.maximum.at(maximum, graph.sentence, logarithm)
    is_first = np.zeros(len(graph.word))
    is_first[np.unique(graph.word, return_index=True)[1]] = 1.0
    return {
        "content_words": np.log1p(graph.sum_by_sentence(graph.count)),
        "common_words": graph.sum_by_sentence(common[graph.word]) / max(_COMMON, 1),
        "mean_log_frequency": _mean(graph, logarithm),
        "max_log_frequency": maximum,
        "first_mentions": _mean(graph, is_first),
        "later_mentions": _mean(graph, is_first * (total[graph.word] > graph.count)),
    }


def _openings(
    graph: WordGraph, columns: dict[str, int], content: Iterable[Sequence[str]], title: Values
) -> dict[str, Values]:
    """Measure the first content words of each sentence, which mostly are its subject."""
    openings = [[columns[word] for word in sentence[:_OPENING]] for sentence in content]
    logarithm = np.log(np.maximum(np.bincount(graph.word, graph.count, graph.words), 1))
    return {
        "title_in_opening": _counts(openings, lambda numbers: float(title[numbers].sum()) / _OPENING),
        "frequency_in_opening": _counts(openings, lambda numbers: float(logarithm[numbers].sum()) / _OPENING),
    }


def _heading_weights(columns: dict[str, int], headings: Sequence[Sequence[str]], language: str) -> Values:
    """Return log(1 + headings that have the word), (words,)."""
    counts = np.zeros(len(columns))
    for heading in headings:
        counts += _members(columns, content_prefixes(heading, language))
    return np.log1p(counts)


def _section_overlap(
    graph: WordGraph,
    columns: dict[str, int],
    headings: Sequence[Sequence[str]],
    structure: Outline,
    language: str,
) -> Values:
    """Return the share of the words of its heading that each sentence has."""
    numbers = [
        {columns[word] for word in content_prefixes(heading, language) if word in columns} for heading in headings
    ]
    cells = [section * graph.words + word for section, members in enumerate(numbers) for word in sorted(members)]
    edges = structure.section[graph.sentence] * graph.words + graph.word
    shared = graph.sum_by_sentence(np.isin(edges, cells).astype(np.float64))
    sizes = np.array([max(len(set(content_prefixes(heading, language))), 2) for heading in headings])
    return np.asarray(shared / sizes[structure.section])


def _previous_overlap(graph: WordGraph) -> Values:
    """Return the share of the words of each sentence that the one before it has."""
    cells = graph.sentence * graph.words + graph.word  # ascending
    shared = np.isin(cells - graph.words, cells).astype(np.float64)
    return _mean(graph, shared)


def _members(columns: dict[str, int], words: Sequence[str]) -> Values:
    """Return 1 for each of the words, (words,), 0 for others."""
    members = np.zeros(len(columns))
    members[[columns[word] for word in words if word in columns]] = 1.0
    return members


def _share(graph: WordGraph, members: NDArray[np.generic]) -> Values:
    return _mean(graph, members.astype(np.float64)[graph.word])


def _mean(graph: WordGraph, values: Values) -> Values:
    """Return the mean over the distinct words of each sentence, from the values of edges."""
    return graph.sum_by_sentence(values) / np.maximum(np.bincount(graph.sentence, minlength=graph.sentences), 1)


def ranks(values: Values) -> Values:
    """Return the share of smaller values, from 0 to 1."""
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values)) / max(len(values) - 1, 1)
    return ranks


def _counts(items: Iterable[Item], count: Callable[[Item], float]) -> Values:
    return np.fromiter(map(count, items), np.float64)
