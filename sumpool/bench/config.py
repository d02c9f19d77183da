"""Settings of benchmarks: the `bench` section of a recipe and `--set`."""

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from sumpool.settings import Settings

Section = TypeVar("Section", bound=Settings)

Count = Annotated[int, Field(ge=1, le=10_000_000)]
Workload = Literal["encode", "train", "generate"]
Baseline = Literal["blockwise", "vanilla"]


class BenchSettings(Settings, Generic[Section]):
    """The `bench` section alone; everything else is that of a recipe or a run."""

    bench: Section
    """The benchmark."""


def split_overrides(overrides: Sequence[str], prefixes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Overrides that begin with one of the prefixes, and all others."""
    chosen = [override for override in overrides if override.startswith(prefixes)]
    return chosen, [override for override in overrides if override not in chosen]


class BenchConfig(Settings):
    """Lengths, repetitions and sizes of a benchmark of one model."""

    lengths: tuple[Count, ...] = Field((1024, 2048, 4096, 8192, 16384), min_length=1)
    """Source tokens."""
    workloads: tuple[Workload, ...] = Field(("encode", "train", "generate"), min_length=1)
    """Workloads to measure."""
    baselines: tuple[Baseline, ...] = ("blockwise", "vanilla")
    """Models without pooling to compare with, named after the attention of all their layers."""
    peers: tuple[str, ...] = ()
    """Names of the systems that `--peers` compares with, such as LED; all that are installed by default."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of encoding and generation; auto is what is fast on the device. A training step has its own."""
    batch: int = Field(1, ge=1, le=10_000_000)
    """Documents at once."""
    beams: int = Field(2, ge=1, le=10_000_000)
    """Beams of the generation."""
    generate: int = Field(64, ge=1, le=10_000_000)
    """Tokens of every generation."""
    target: int = Field(128, ge=1, le=10_000_000)
    """Summary tokens of a training step."""
    repeats: int = Field(5, ge=1, le=10_000_000)
    """Measured repetitions after one that is not counted; fewer where time ends."""
    seconds: Annotated[float, Field(gt=0, le=1_000_000)] | Literal["auto"] = "auto"
    """Time for everything; auto is nine minutes on a CPU, 100 seconds on a GPU, and six times as much with peers."""


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

    @model_validator(mode="after")
    def _trial_holds_a_batch(self) -> Self:
        if self.trial < max(self.batches):
            raise ValueError(f"trial must be at least {max(self.batches)}, the largest of batches, got {self.trial}")
        return self
