"""Settings of `sumpool bench corpus`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from sumpool.bench.config import Count
from sumpool.settings import Settings


class CorpusConfig(Settings):
    """Documents, generation and peers of a benchmark of a corpus."""

    documents: Annotated[int, Field(ge=2, le=100)] = 64
    """RFCs of the test split of the bundled sample, spread evenly over its lengths."""
    beams: Annotated[int, Field(ge=1, le=64)] = 2
    """Beams of every system."""
    generate: Annotated[int, Field(ge=1, le=1_000_000)] = 64
    """Tokens that every system writes for each document."""
    repeats: Annotated[int, Field(ge=1, le=1_000)] = 3
    """Runs of each system; the systems take turns."""
    batches: tuple[Count, ...] = Field((1, 4, 16), min_length=1)
    """Numbers of documents at once among which a trial chooses for each peer."""
    trial: Annotated[int, Field(ge=1, le=100)] = 16
    """Documents, evenly spread over the lengths, of the trial that chooses batch and precision of a peer; no fewer than
    the largest batch."""
    memory: Annotated[float, Field(gt=0, le=1_000_000)] = 8.0
    """GiB of memory that a peer's process may use in the trial; larger batches are left out."""
    peers: tuple[str, ...] = ()
    """Names of the systems that `--peers` compares with, such as LED; all by default."""
    timeout: Annotated[float, Field(gt=0, le=1_000_000)] = 1800.0
    """Seconds after which a process is ended and its system left out."""

    @model_validator(mode="after")
    def _trial_holds_a_batch(self) -> Self:
        if self.trial < max(self.batches):
            raise ValueError(f"trial must be at least {max(self.batches)}, the largest of batches, got {self.trial}")
        return self
