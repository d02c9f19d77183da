"""How long work reports itself: one value, handed to one callback that the command line draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """A moment of long work.

    Attributes:
        task: What is being done, in the user's words ("train", "prepare: tokens").
        done: Units done so far.
        total: Units in all, None where nobody can know.
        figures: A few numbers to show beside the bar (loss, tokens per second).
        note: A sentence that stays on the screen; empty for a mere tick.
    """

    task: str
    done: int = 0
    total: int | None = None
    figures: Mapping[str, float | str] = field(default_factory=dict)
    note: str = ""


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report to nobody."""
