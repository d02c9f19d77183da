"""What is known of a model beside its twins and peers, a row each."""

from dataclasses import dataclass

from sumpool.bench.measures.growth import Growth
from sumpool.bench.measures.timing import Timing

MODEL = "model"
"""The name of what all others are compared to."""


@dataclass(frozen=True)
class ModelRow:
    """One system at one work and one length.

    Attributes:
        work: "encode", "train" (forward and backward) or "generate" (encoding included).
        model: "model", or the name of its twin or of a peer.
        length: Source tokens of each document.
        batch: Documents at once.
        timing: The repetitions; None where `note` says why there are none.
        memory: Peak bytes above those held before the work; None where that cannot be known.
        operations: Counted operations of one repetition; None for generation, and where they cannot be counted.
        note: Why it was not measured; empty where it was.
        precision: "fp32", "bf16" or "int8"; empty for a peer, whose name says it.
        weights: Bytes of the weights in that precision; None for a peer.
        layout: Vectors that leave each encoder layer; empty for a peer.
        share: Operations a second over those of a large product in that precision; None where either is not known.
    """

    work: str
    model: str
    length: int
    batch: int
    timing: Timing | None = None
    memory: int | None = None
    operations: int | None = None
    note: str = ""
    precision: str = ""
    weights: int | None = None
    layout: tuple[int, ...] = ()
    share: float | None = None


@dataclass(frozen=True)
class StepRow:
    """One step of the search of one system at one length: what generation took more than encoding, per token.

    Attributes:
        model: As in `ModelRow`.
        length: As in `ModelRow`.
        batch: As in `ModelRow`.
        seconds: Of a step, from the medians of both works.
        spread: The larger of theirs.
        bytes: What a step must read once, in the precision used: the weights of decoder and vocabulary, and what is
            kept of the documents; None for a peer.
        share: Bytes a second over the speed at which the machine reads or copies, whichever is faster.
    """

    model: str
    length: int
    batch: int
    seconds: float
    spread: float
    bytes: int | None = None
    share: float | None = None


@dataclass(frozen=True)
class GrowthRow:
    """How one cost of one model grows with length.

    Attributes:
        work: As in `ModelRow`.
        model: As in `ModelRow`.
        cost: "seconds", "bytes" or "operations".
        lengths: Where it was measured.
        growth: The fits.
    """

    work: str
    model: str
    cost: str
    lengths: tuple[int, ...]
    growth: Growth
