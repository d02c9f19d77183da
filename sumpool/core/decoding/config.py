"""How summaries are written: the `summarize` section of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from sumpool.core.decoding.ranking import LengthFormula, Ranking
from sumpool.settings import Settings


class DecodingConfig(Settings):
    """Beam search and the rules that a summary obeys."""

    mode: Literal["abstractive", "extractive", "auto"] = "abstractive"
    """Whether summaries are what the model writes, or those sentences of the document that agree with it most, which
    say nothing that the document does not; auto takes whichever of both agrees more with all that it might write."""
    samples: int = Field(8, ge=1, le=64)
    """Summaries that are drawn to see what the model might write, for sentences to agree with."""
    temperature: float = Field(0.7, gt=0)
    """How freely they are drawn: 1 is as the model foresees them, less keeps closer to what is likely."""
    ood_threshold: float = Field(0.0, ge=0, le=2)
    """ROUGE-1 + ROUGE-2 F1 of the drawn summaries with the first 60 words of a document, below which the model is at a
    loss with it: then sentences agree with these words too, and auto takes sentences. 0 is off."""
    keep_threshold: float = Field(0.0, ge=0, le=2)
    """The same agreement of what the model writes with the drawn summaries, which auto asks for to keep it."""
    beams: int = Field(4, ge=1, le=64)
    """Hypotheses per document; 1 is greedy search."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent of the length in the score, sum(log p) / length ** penalty; above 1 favours long summaries, 0 is off."""
    length_formula: LengthFormula = "sumpool"
    """How the length counts: sumpool divides by (pieces + end) ** penalty, as fairseq; transformers does so too, but
    takes a forced end for sure and stops sooner, as `generate` does; gnmt divides by ((5 + pieces + end) / 6) **
    penalty (Wu et al., 2016)."""
    early_stopping: bool = False
    """Whether a search stops as soon as `beams` hypotheses have ended, whatever could still come."""
    min_length: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Fewest tokens of a summary, its end not counted; auto is 0.85 times the mean of the training summaries."""
    max_length: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    """Most tokens of a summary, its end not counted; auto is twice what 90 % of the training summaries keep below, and
    the search does not wait for hypotheses that need more than the mean to win, as it does for a length fixed here."""
    force_end: bool = True
    """Whether a summary of the longest length must still write its end, likely or not; else it is cut there."""
    begin_with: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Tokens that every summary begins with, by number, as imported models want it; they count as tokens of it."""
    no_repeat_words: int = Field(3, ge=0)
    """No run of this many words occurs twice in a summary; 0 is off."""
    no_repeat_tokens: int = Field(0, ge=0)
    """No run of this many tokens occurs twice in a summary, as imported models want it; 0 is off."""
    batch_tokens: int = Field(32768, ge=1)
    """Source tokens that travel together, padding included."""
    on_overflow: Literal["truncate", "error", "window"] = "truncate"
    """What happens to a document longer than the model reads: its beginning is read, it is refused, or it is
    summarised window by window."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """What weights are rounded to, once they are loaded: not at all, to 16 bits, or to whole numbers; auto is int8 on a
    CPU and bf16 on a GPU. int8 is the fastest on a CPU, and batch mates change no bit of what it computes; with bf16
    they may change the last ones."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to summarise; auto takes a GPU if there is one."""

    def ranking(self) -> Ranking:
        """Say how hypotheses compare and end."""
        return Ranking(self.beams, self.length_penalty, self.length_formula, self.early_stopping, self.force_end)
