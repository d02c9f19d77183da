"""Length of summaries: targets in words or sentences, and the choice of sentences that meets them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sumpool.core.decoding.config import parse_length
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.report import REPORT_FILE, DataReport
from sumpool.evaluation.agreement import ComparedSentences
from sumpool.inference.loading import LoadedModel
from sumpool.text.language import word_count
from sumpool.text.sentences import SentenceSplitter

_TOKENS_PER_WORD = 1.3
"""Tokens per word of models without a data report, such as imported ones."""
_MAX_CELLS = 10_000_000
"""Numbers that are stored at most to find the selection of the closest length."""
_PAIRED_CANDIDATES = 40
"""Candidates of the first sentence of a pair that replaces one."""


def length_targets(loaded: LoadedModel) -> Callable[[str], LengthTarget | None]:
    """Return a function from the text of a document to the length of its summary by the settings of a model.

    A share refers to the words of the document. The function returns None if the length is the usual one.
    """
    amount, unit = parse_length(loaded.recipe.summarize.length)
    if unit == "usual" and amount == 1:
        return lambda _: None
    per_word = tokens_per_word(loaded)
    minimum, maximum, expected = loaded.lengths
    usual = (expected or (minimum + maximum) / 2) / per_word  # words

    def target(text: str) -> LengthTarget:
        factor = {"words": 1.0, "sentences": 1.0, "share": word_count(text), "usual": usual}[unit]
        resolved = LengthTarget(max(1, round(amount * factor)), unit == "sentences", 0)
        return replace(resolved, tokens=round(resolved.words * per_word))

    return target


def length_fault(target: LengthTarget, document: str, summary: str, splitter: SentenceSplitter) -> str:
    """Return why a written summary cannot serve for a target; empty if it has the target's length."""
    written, total = (
        len(splitter.split(text)) if target.in_sentences else word_count(text) for text in (summary, document)
    )
    if total <= target.maximum:
        return f"asked for {target}, the document has {total:,}"
    if target.minimum <= written <= target.maximum:
        return ""
    return f"asked for {target}, the model wrote {written:,}"


def selection_fault(target: LengthTarget, selected: Sequence[str]) -> str:
    """Return how far selected sentences miss a target, as in documents with little prose; empty if they meet it."""
    total = int(_counts(selected, target).sum())
    if target.minimum <= total <= target.maximum:
        return ""
    return f"asked for {target}, whole sentences of prose give {total:,}"


def tokens_per_word(loaded: LoadedModel) -> float:
    """Return the tokens per word of the training summaries of a model."""
    if not (loaded.folder / REPORT_FILE).is_file():
        return _TOKENS_PER_WORD
    training = DataReport.load(loaded.folder).splits["train"]
    words = training.summary_words.mean
    return training.summary_tokens.mean / words if words else _TOKENS_PER_WORD


def select_length(compared: ComparedSentences, sentences: Sequence[str], target: LengthTarget) -> list[int]:
    """Select sentences that agree with the references and together have the length of a target.

    Sentences are added greedily as long as they raise the agreement of all, then by their own agreement.

    Args:
        compared: The sentences compared with the references.
        sentences: The sentences.
        target: The length.

    Returns:
        Indices in document order; see `adjust_length`.
    """
    scores = compared.scores()
    return adjust_length(_rising(compared, _counts(sentences, target), target), sentences, scores, target)


def adjust_length(
    selected: Sequence[int], sentences: Sequence[str], scores: NDArray[np.float64], target: LengthTarget
) -> list[int]:
    """Adjust a selection to the length of a target.

    The last sentences are removed from one that is too long. Others are added by their scores to one that is too short.
    If none fits any more, a selected one, the last first, is replaced by one or two others; at last any selection is
    taken whose length comes closest.

    Args:
        selected: Indices of the selected sentences, the best first.
        sentences: All sentences.
        scores: Their scores, (sentences,).
        target: The length.

    Returns:
        Indices in document order; all sentences if they are too few or exactly enough.
    """
    counts = _counts(sentences, target)
    if counts.sum() <= target.maximum:
        return list(range(len(sentences)))
    kept = list(selected)
    while counts[kept].sum() > target.maximum:
        kept.pop()
    for candidate in np.argsort(-scores, kind="stable").tolist():
        total = counts[kept].sum()
        if total >= target.minimum:
            break
        if candidate not in kept and total + counts[candidate] <= target.maximum:
            kept.append(candidate)
    if counts[kept].sum() < target.minimum:
        kept = _exchange(scores, counts, kept, target) or _closest(scores, counts, target) or kept
    return sorted(kept)


def _counts(sentences: Sequence[str], target: LengthTarget) -> NDArray[np.int64]:
    """Words of each sentence, or 1 if sentences are counted."""
    return np.array([1 if target.in_sentences else word_count(sentence) for sentence in sentences], dtype=np.int64)


def _rising(compared: ComparedSentences, counts: NDArray[np.int64], target: LengthTarget) -> list[int]:
    """Greedily select sentences as long as they raise the agreement and fit, up to the least length."""
    selected: list[int] = []
    agreement = 0.0
    while len(counts) and counts[selected].sum() < target.minimum:
        fits = counts <= target.maximum - counts[selected].sum()
        scores = np.where(fits, compared.scores(), 0.0)
        scores[selected] = 0.0
        candidate = int(scores.argmax())  # the first of equals
        if scores[candidate] <= agreement:
            break
        agreement = float(scores[candidate])
        selected.append(candidate)
        compared.add(candidate)
    return selected


def _exchange(
    scores: NDArray[np.float64], counts: NDArray[np.int64], selected: Sequence[int], target: LengthTarget
) -> list[int]:
    """Replace one selected sentence by one or two others so that the length is met; empty if none can be."""
    others = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in selected]
    singles: list[list[int]] = [[]]
    for beside in (singles, [[index] for index in others[:_PAIRED_CANDIDATES]]):
        for removed in reversed(selected):
            kept = [index for index in selected if index != removed]
            for first in beside:
                total = counts[[*kept, *first]].sum()
                for second in others:
                    if target.minimum <= total + counts[second] <= target.maximum and second not in first:
                        return [*kept, *first, second]
    return []


def _closest(scores: NDArray[np.float64], counts: NDArray[np.int64], target: LengthTarget) -> list[int]:
    """Return the selection with the highest sum of scores among those whose length is closest to the target.

    Documents for which this takes much memory get an empty selection.
    """
    room = target.maximum + target.amount
    if room * len(counts) > _MAX_CELLS:
        return []
    best = np.full(room + 1, -np.inf)  # by length
    best[0] = 0.0
    steps = [best]
    for score, count in zip(scores, counts.tolist(), strict=True):
        longer = np.full_like(best, -np.inf)
        if count <= room:
            longer[count:] = best[: room + 1 - count] + score
        best = np.maximum(best, longer)
        steps.append(best)
    reachable = np.flatnonzero(best > -np.inf)
    distance = np.abs(reachable - target.amount)
    distance[(reachable >= target.minimum) & (reachable <= target.maximum)] = 0
    nearest = reachable[distance == distance.min()]
    length = int(nearest[best[nearest].argmax()])
    selected = []
    for index, (before, after) in reversed(list(enumerate(pairwise(steps)))):
        if after[length] > before[length]:
            selected.append(index)
            length -= int(counts[index])
    return selected
