"""Settings of generation: the `summarize` section of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from sumpool.core.decoding.ranking import LengthFormula, Ranking
from sumpool.settings import Settings


class DecodingConfig(Settings):
    """Generation of summaries: beam search, sampling, and constraints."""

    mode: Literal["abstractive", "extractive", "auto"] = "abstractive"
    """Kind of summary: abstractive is the model's best hypothesis; extractive selects the sentences of the document
    that agree most with summaries sampled from the model (minimum Bayes risk); auto chooses for each document the one
    that agrees more with the samples."""
    samples: int = Field(8, ge=1, le=64)
    """Number of summaries sampled from the model in the modes extractive and auto."""
    temperature: float = Field(0.7, gt=0)
    """Sampling temperature: 1 samples from the model's distribution, less prefers likely summaries."""
    ood_threshold: float = Field(0.0, ge=0, le=2)
    """Threshold of out-of-domain detection: where ROUGE-1 + ROUGE-2 F1 of the samples with the first 60 words of the
    document is lower, extracted sentences are also scored against these words, and auto extracts. 0 is off."""
    keep_threshold: float = Field(0.0, ge=0, le=2)
    """ROUGE-1 + ROUGE-2 F1 of the best hypothesis with the samples, below which auto extracts."""
    beams: int = Field(4, ge=1, le=64)
    """Beams, hypotheses per document; 1 is greedy search."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent of the length in the score, sum(log p) / length ** penalty; above 1 favours long summaries, 0 is off."""
    length_formula: LengthFormula = "sumpool"
    """Length normalisation: sumpool divides by length ** penalty, EOS included, as fairseq; transformers does so too,
    but gives a forced EOS probability 1 and stops sooner, as `generate` does; gnmt divides by ((5 + length) / 6) **
    penalty (Wu et al., 2016)."""
    early_stopping: bool = False
    """Stop the search as soon as `beams` hypotheses have finished, even if a better one could follow."""
    min_length: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Minimum tokens of a summary, EOS excluded; auto is 0.85 times the mean of the training summaries."""
    max_length: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    """Maximum tokens of a summary, EOS excluded; auto is twice the 90th percentile of the training summaries, and the
    search then stops when no hypothesis of mean length could win; with a number, when none of maximum length could."""
    force_end: bool = True
    """End summaries of maximum length with EOS, whatever its probability; false cuts them instead."""
    begin_with: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Ids of the tokens that every summary begins with, as imported models require; they count as its tokens."""
    no_repeat_words: int = Field(3, ge=0)
    """Size of the word n-grams that may not occur twice in a summary; 0 is off."""
    no_repeat_tokens: int = Field(0, ge=0)
    """Size of the token n-grams that may not occur twice in a summary, as imported models require; 0 is off."""
    batch_tokens: int = Field(32768, ge=1)
    """Source tokens of a batch, padding included."""
    on_overflow: Literal["truncate", "error", "window"] = "truncate"
    """Documents longer than the model's `source_length`: summarise the beginning, raise an error, or summarise
    consecutive windows."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of the weights after loading: fp32, bf16, or int8 quantization; auto is int8 on a CPU and bf16 on a
    GPU. int8 is the fastest on a CPU, and its results are bitwise independent of batch mates; with bf16 the last bits
    may differ."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device; auto uses a GPU if there is one."""

    def ranking(self) -> Ranking:
        """Return scores and stopping criterion of the beam search."""
        return Ranking(self.beams, self.length_penalty, self.length_formula, self.early_stopping, self.force_end)
