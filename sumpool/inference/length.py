"""Length of summaries: targets in words or sentences, and summaries that miss them."""

from collections.abc import Callable
from dataclasses import replace

from sumpool.core.decoding.config import parse_length
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.report import REPORT_FILE, DataReport
from sumpool.inference.loading import LoadedModel
from sumpool.text.language import word_count
from sumpool.text.sentences import SentenceSplitter

_TOKENS_PER_WORD = 1.3
"""Tokens per word of models without a data report, such as imported ones."""


def length_targets(loaded: LoadedModel) -> Callable[[str], LengthTarget | None]:
    """Return a function from the text of a document to the length of its summary by the settings of a model.

    A share refers to the words of the document. The function returns None if the length is the usual one.
    """
    length = parse_length(loaded.recipe.summarize.length)
    if length == (1, "usual"):
        return lambda _: None
    per_word = tokens_per_word(loaded)
    minimum, maximum, expected = loaded.lengths
    usual = (expected or (minimum + maximum) / 2) / per_word  # words

    def target(text: str) -> LengthTarget:
        resolved = LengthTarget(length.resolve(word_count(text), usual), length.unit == "sentences", 0)
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


def tokens_per_word(loaded: LoadedModel) -> float:
    """Return the tokens per word of the training summaries of a model."""
    if not (loaded.folder / REPORT_FILE).is_file():
        return _TOKENS_PER_WORD
    training = DataReport.load(loaded.folder).splits["train"]
    words = training.summary_words.mean
    return training.summary_tokens.mean / words if words else _TOKENS_PER_WORD
