"""Progress of long operations, reported as one value to one callback."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Progress of an operation at one moment.

    Attributes:
        task: Name of the operation as shown to users ("train", "prepare: tokens").
        done: Completed units.
        total: Total units; None if unknown.
        metrics: Values shown beside the progress bar (loss, tokens per second).
        note: Message that stays on screen; empty if there is none.
    """

    task: str
    done: int = 0
    total: int | None = None
    metrics: Mapping[str, float | str] = field(default_factory=dict)
    note: str = ""


Report = Callable[[Progress], None]
"""Progress callback."""


def silent(progress: Progress) -> None:
    """Discard the progress."""
