"""Settings of generation: the `summarize` section of a recipe."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Self, final

from pydantic import AfterValidator, Field, model_validator

from sumpool.errors import RecipeError
from sumpool.settings import Settings

LengthFormula = Literal["sumpool", "transformers"]

_TOLERANCE = 0.1
"""Tolerance of a number of words."""
_WORDS_PER_SENTENCE = 25
LengthUnit = Literal["usual", "words", "sentences", "share"]
_LENGTH = re.compile(r"(?P<amount>[0-9]{1,6}(?:\.[0-9]{1,3})?)(?P<unit>[ws%])")
_UNITS: dict[str, LengthUnit] = {"w": "words", "s": "sentences", "%": "share"}
_RELATIVE_LENGTHS = {"auto": 1.0, "short": 0.5, "medium": 1.0, "long": 2.0}
LENGTH_FORMS = "auto, short, medium, long, or like 150w (words), 5s (sentences) or 10% (of the document's words)"
"""Accepted lengths, for error messages."""


@dataclass(frozen=True)
class Hypothesis:
    """A finished summary.

    Attributes:
        tokens: Token ids, the prefix included, without BOS and EOS.
        score: Score by the length formula; higher is better.
        log_prob: sum(log p), in nats, EOS included and the prefix excluded.
    """

    tokens: tuple[int, ...]
    score: float
    log_prob: float


@dataclass(frozen=True)
class LengthTarget:
    """Length that the summary of a document is to have.

    Attributes:
        amount: Number of words or sentences, at least 1.
        in_sentences: Whether sentences are counted instead of words.
        tokens: Tokens that a written summary of this length is expected to have; 0 if none is written.
    """

    amount: int
    in_sentences: bool
    tokens: int = 0

    @property
    def minimum(self) -> int:
        """Least words or sentences."""
        return self.amount if self.in_sentences else math.ceil(round((1 - _TOLERANCE) * self.amount, 6))

    @property
    def maximum(self) -> int:
        """Most words or sentences."""
        return self.amount if self.in_sentences else math.floor(round((1 + _TOLERANCE) * self.amount, 6))

    @property
    def words(self) -> int:
        """Number of words, estimated for sentences."""
        return _WORDS_PER_SENTENCE * self.amount if self.in_sentences else self.amount

    def __str__(self) -> str:
        unit = "sentence" if self.in_sentences else "word"
        return f"{self.amount:,} {unit}{'s' if self.amount > 1 else ''}"


_MIN_OF_MEAN = 0.85
"""Shortest summary relative to the mean training summary. Without a minimum greedy search stops after 10 to 25 words
and loses 7 points of ROUGE-1."""
_MAX_OF_P90 = 2
"""Longest summary relative to the 90th percentile of the training summaries."""


class Lengths(NamedTuple):
    """Bounds on the tokens of a summary, its prefix included and EOS excluded.

    Attributes:
        minimum: Minimum length.
        maximum: Maximum length.
        expected: Length that the stopping criterion assumes for shorter unfinished hypotheses. None assumes `maximum`,
            which misses no better summary and mostly searches to the maximum. Ignored by the formula of transformers.
    """

    minimum: int
    maximum: int
    expected: int | None = None

    def clip(self, longest: int) -> "Lengths":
        """Return the bounds within a longest length."""
        expected = None if self.expected is None else min(self.expected, longest)
        return Lengths(min(self.minimum, longest), min(self.maximum, longest), expected)


@final
@dataclass(frozen=True)
class Ranking:
    """Scoring of hypotheses and stopping criterion of a search.

    The score of a hypothesis is log p / length ** p, with its log-probability, its number of tokens, EOS included in
    both, and the length penalty p. A penalty above 1 favours long summaries, and 0 compares plain probabilities. With
    early stopping a search ends when as many hypotheses as beams have finished. Without it, the score that the best
    unfinished hypothesis can attain must also be at most that of the worst finished one:

        sumpool       The bound assumes the length with the best score: since log p cannot rise, no better summary is
                      missed (early_stopping="never" of transformers).
        transformers  As in `generate` of transformers 5, a forced EOS has probability 1, and the bound assumes the
                      current length, so that a search ends sooner and may miss a better long summary.

    Attributes:
        beams: Hypotheses per document; 1 is greedy search.
        length_penalty: Exponent p of the formula, at least 0.
        length_formula: Name of the formula.
        early_stopping: Whether a search ends as soon as `beams` hypotheses have finished.
        force_end: Whether hypotheses of the maximum length must end with EOS; else they are cut.
    """

    beams: int
    length_penalty: float = 1.0
    length_formula: LengthFormula = "sumpool"
    early_stopping: bool = False
    force_end: bool = True

    @property
    def forced_end_is_free(self) -> bool:
        """Whether a forced EOS adds nothing to log p."""
        return self.length_formula == "transformers"

    def score(self, log_prob: float, length: int) -> float:
        """Return the score of a hypothesis of this length, EOS included."""
        return log_prob / self.divisor(length)

    def divisor(self, length: int) -> float:
        """Return what log p of a hypothesis of this length, EOS included, is divided by."""
        return math.pow(length, self.length_penalty)

    def attainable_score(self, log_prob: float, tokens: int, lengths: Lengths) -> float:
        """Return the highest score that an unfinished hypothesis with this many tokens is assumed to attain."""
        if self.length_formula == "transformers":
            return self.score(log_prob, tokens)
        length = lengths.maximum if lengths.expected is None else max(lengths.expected, tokens)
        return self.score(log_prob, length + 1)


class SummaryLength(NamedTuple):
    """Length of a summary, as asked for.

    Attributes:
        amount: Words, sentences, share of the words of the document, or factor of the usual length.
        unit: Unit of the amount.
    """

    amount: float
    unit: LengthUnit

    def resolve(self, document_words: int, usual_words: float) -> int:
        """Return the number of words, or of sentences if that is the unit: at least 1.

        Args:
            document_words: Words of the document, which a share refers to.
            usual_words: Words of a summary of the usual length.
        """
        factors = {"words": 1.0, "sentences": 1.0, "share": document_words, "usual": usual_words}
        return max(1, round(self.amount * factors[self.unit]))


def parse_length(text: str) -> SummaryLength:
    """Parse a length such as "150w".

    Raises:
        ValueError: If the text is none of the accepted forms, or the length is 0 or more than the whole document.
    """
    if text in _RELATIVE_LENGTHS:
        return SummaryLength(_RELATIVE_LENGTHS[text], "usual")
    match = _LENGTH.fullmatch(text)
    amount, unit = (float(match["amount"]), _UNITS[match["unit"]]) if match else (0.0, "usual")
    is_valid = 0 < amount <= 100 if unit == "share" else amount >= 1 and amount.is_integer()
    if not is_valid:
        raise ValueError(f"must be {LENGTH_FORMS}, got {text[:40]!r}")
    return SummaryLength(amount / 100 if unit == "share" else amount, unit)


def _require_length(text: str) -> str:
    parse_length(text)
    return text


class DecodingConfig(Settings):
    """Generation of summaries: beam search, sampling, and constraints."""

    mode: Literal["abstractive", "extractive"] = "abstractive"
    """Kind of summary: abstractive is the model's best hypothesis; extractive selects sentences of the document, with
    the help of summaries sampled from the model where it has learnt such documents."""
    fast: bool = False
    """Select sentences by structure and words alone, without the model: some ten times faster, and no sampled summaries
    help to choose. The mode is extractive then."""
    mbr: bool = False
    """Choose a generated summary by minimum Bayes risk: of the best hypothesis and the sampled summaries, the one that
    agrees most with the other samples, by ROUGE-1 + ROUGE-2 F1. Otherwise it is the best hypothesis."""
    factuality: Literal["any", "facts", "spans"] = "any"
    """Sentences that a generated summary may have: `facts`, those whose numbers, names and negations are in the source
    sentences that they copy; `spans`, those of them without three neighbouring words that the document does not have in
    this order. The others are replaced by the source sentence that they copy most of, or dropped."""
    repair: bool = True
    """Repair generated text to whole sentences: capitals, paired brackets and quotation marks, no trailing fragment;
    false leaves it as it is, as imported models require. Candidates of `mbr` and `factuality` are repaired in any
    case."""
    samples: int = Field(8, ge=1, le=64)
    """Number of summaries sampled from the model in mode extractive, and with `mbr`."""
    temperature: float = Field(0.7, ge=0.01, le=100)
    """Sampling temperature: 1 samples from the model's distribution, less prefers likely summaries."""
    beams: int = Field(4, ge=1, le=64)
    """Beams, hypotheses per document; 1 is greedy search."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent of the length in the score, sum(log p) / length ** penalty; above 1 favours long summaries, 0 is off."""
    length_formula: LengthFormula = "sumpool"
    """Length normalisation: sumpool divides by length ** penalty, EOS included, as fairseq; transformers does so too,
    but gives a forced EOS probability 1 and stops sooner, as `generate` of transformers 5 does."""
    early_stopping: bool = False
    """Stop the search as soon as `beams` hypotheses have finished, even if a better one could follow."""
    length: Annotated[str, AfterValidator(_require_length)] = "auto"
    """Length of a summary: 150w is words, 5s sentences, 10% a share of the document's words; short, medium and long are
    half, once and twice the usual length; auto keeps to min_length and max_length, which the others replace. Words are
    obeyed within 10 %."""
    focus: str = Field("", max_length=1000)
    """Topic or question by which sentences are selected, without the model; empty for none."""
    key_points: int = Field(0, ge=0, le=100)
    """Number of further sentences of the document behind its summary."""
    sections: bool = False
    """Whether one or two sentences of each section follow the summary."""
    min_length: Annotated[int, Field(ge=0, le=1_000_000)] | Literal["auto"] = "auto"
    """Minimum tokens of a summary, EOS excluded; auto is 0.85 times the mean of the training summaries."""
    max_length: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto"] = "auto"
    """Maximum tokens of a summary, EOS excluded; auto is twice the 90th percentile of the training summaries, and the
    search then stops when no hypothesis of mean length could win; with a number, when none of maximum length could."""
    force_end: bool = True
    """End summaries of maximum length with EOS, whatever its probability; false cuts them instead."""
    begin_with: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = ()
    """Ids of the tokens that every summary begins with, as imported models require; they count as its tokens."""
    no_repeat_words: int = Field(3, ge=0, le=100)
    """Size of the word n-grams that may not occur twice in a summary; 0 is off."""
    no_repeat_tokens: int = Field(0, ge=0, le=100)
    """Size of the token n-grams that may not occur twice in a summary, as imported models require; 0 is off."""
    batch_tokens: int = Field(32768, ge=1, le=1_000_000_000)
    """Source tokens of a batch, padding included."""
    on_overflow: Literal["truncate", "error", "select"] = "select"
    """Documents longer than the model's `source_length`: summarise the beginning, raise an error, or read the sentences
    that the ranker prefers, as many as fit; the beginning if none does."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of the weights after loading: fp32, bf16, or int8 quantization; auto is bf16 on a GPU, and int8 on a
    CPU, but bf16 for the encoder if the CPU has AMX. On a CPU int8 is fastest, and generates in batches; the other
    precisions generate one document at a time, as their sums would depend on batch mates."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device; auto uses a GPU if there is one."""

    @model_validator(mode="after")
    def _lengths_ascend(self) -> Self:
        least, most = self.min_length, self.max_length
        if least != "auto" and most != "auto" and least > most:
            raise ValueError(f"min_length must be at most max_length = {most}, got {least}")
        return self

    def ranking(self) -> Ranking:
        """Return scores and stopping criterion of the beam search."""
        return Ranking(self.beams, self.length_penalty, self.length_formula, self.early_stopping, self.force_end)


def choose_lengths(config: DecodingConfig, mean: float, p90: float, target_length: int) -> Lengths:
    """Resolve lengths of "auto" by the lengths of the training summaries.

    Args:
        config: The settings; a fixed length stays.
        mean: Mean tokens of the training summaries.
        p90: 90th percentile of the tokens of the training summaries.
        target_length: Most tokens of a summary, EOS included.

    Raises:
        RecipeError: If the shortest length exceeds the longest.
    """
    maximum = round(_MAX_OF_P90 * p90) if config.max_length == "auto" else config.max_length
    maximum = max(1, min(maximum, target_length - 1))
    minimum = min(round(_MIN_OF_MEAN * mean), maximum) if config.min_length == "auto" else config.min_length
    if minimum > maximum:
        raise RecipeError(f"summarize.min_length must be at most the longest length, {maximum}, got {minimum}")
    likely = max(minimum, min(round(mean), maximum)) if config.max_length == "auto" else None
    return Lengths(minimum, maximum, likely)
