"""Everything that a user can mend, as one tree; the command line prints the sentence and exits with the code.

    SumpoolError
    ├── RecipeError       2   a recipe, a setting or an argument
    ├── DataError         3   a document, a data file, a prepared folder
    ├── CheckpointError   4   a run folder, a checkpoint, a model
    ├── NonFiniteError    5   training met a loss or a gradient that is no number
    ├── ResourceError     6   memory or disk ran out
    └── Interrupted       130 or 143   SIGINT or SIGTERM, after the work was saved

A sentence reads `<path or name> must <rule>, got <value>` and says what to do.
"""

import signal
from typing import ClassVar


class SumpoolError(Exception):
    """What went wrong, where, and what to do about it, in one sentence."""

    exit_code: ClassVar[int] = 1


class RecipeError(SumpoolError):
    """A recipe, a setting or an argument that cannot be used."""

    exit_code = 2


class DataError(SumpoolError):
    """A document, a data file or a prepared folder that cannot be used."""

    exit_code = 3


class CheckpointError(SumpoolError):
    """A run folder, a checkpoint or a model that is missing, broken or of another kind."""

    exit_code = 4


class NonFiniteError(SumpoolError):
    """A loss or a gradient that is no finite number; raised before the weights change."""

    exit_code = 5


class ResourceError(SumpoolError):
    """Memory or disk ran out."""

    exit_code = 6


class Interrupted(SumpoolError):  # noqa: N818 - an interruption is no error of anybody's
    """A signal asked the work to stop, and what was done so far is saved."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message or f"stopped by {signal.Signals(number).name}; the work is saved")
        self.number = number

    @property
    def status(self) -> int:
        """The exit code that shells expect of a process ended by this signal."""
        return 128 + self.number


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python or torch says that memory ran out; torch's own error is known by its name, so none is imported."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and (type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error))
    )
