"""Evaluation settings, the `evaluate` section of a recipe, and the slices of documents that they define."""

from typing import Literal, get_args

from pydantic import Field

from sumpool.settings import Settings

Baseline = Literal["lead", "lexrank", "textrank", "random", "oracle"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
"""Baselines in the order of tables."""
EqualLength = Literal["shortest", "references"]
"""Length of all summaries of a document: that of the shortest that is not empty, or of the reference."""


class EvaluationConfig(Settings):
    """ROUGE, confidence intervals and baselines."""

    tokenizer: Literal["rouge", "unicode"] = "rouge"
    """Words that are compared: `rouge` takes a-z and 0-9 as rouge-score does; `unicode` takes letters and digits of all
    scripts, and counts characters of Chinese, Japanese, Thai, Lao, Khmer and Burmese as words."""
    stemmer: bool = True
    """Whether words are stemmed with Porter's stemmer before they are compared."""
    files: Literal["text", "html", "pdf"] | None = None
    """Format of files that the documents are written to and read from before they are summarised, so that the summaries
    are those of a person's files; null summarises the texts themselves. `--files` sets it."""
    resamples: int = Field(1000, ge=100, le=100_000)
    """Resamples of the bootstrap for 95 % intervals, and of the paired tests."""
    baselines: tuple[Baseline, ...] = BASELINES
    """Baselines beside the summaries."""
    lead_words: int = Field(60, ge=1, le=1_000_000)
    """Length of the baselines LEAD, LexRank, TextRank and random sentences, in words."""
