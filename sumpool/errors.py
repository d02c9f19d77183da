"""Errors that a user can fix, and their exit codes. The command line prints the message and exits with the code.

    SumpoolError
    ├── RecipeError       2   a recipe, a setting or an argument
    ├── DataError         3   a document, a data file, a prepared folder
    ├── CheckpointError   4   a run folder, a checkpoint, a model
    ├── NonFiniteError    5   a loss or gradient that is not finite
    ├── ResourceError     6   out of memory or disk space
    └── Interrupted       130 or 143   SIGINT or SIGTERM, raised after progress was saved

A message reads `<path or name> must <rule>, got <value>` and says what to do. Exit code 1 is a bug in sumpool.
"""

import errno
import signal
from typing import ClassVar, Final

_EXHAUSTED: Final = (
    "can't allocate memory",  # torch
    "CUDA error: out of memory",  # CUDA outside torch's allocator: pinned memory, graphs, kernels loaded lazily
    "CUBLAS_STATUS_ALLOC_FAILED",  # cuBLAS
    "could not create a primitive",  # oneDNN
    "bad_alloc",  # C++
    "Resource temporarily unavailable",  # a thread without a stack
    "failed to map segment from shared object",  # the dynamic linker
)
"""Parts of messages of libraries that have no memory."""


class SumpoolError(Exception):
    """Base class: the message is one sentence that says what failed, where, and what to do."""

    exit_code: ClassVar[int] = 1


class RecipeError(SumpoolError):
    """Invalid recipe, setting or argument."""

    exit_code = 2


class DataError(SumpoolError):
    """Unusable document, data file or prepared folder."""

    exit_code = 3


class CheckpointError(SumpoolError):
    """Missing, damaged or incompatible run folder, checkpoint or model."""

    exit_code = 4


class NonFiniteError(SumpoolError):
    """Loss or gradient that is not finite; raised before the weights are updated."""

    exit_code = 5


class ResourceError(SumpoolError):
    """Out of memory or disk space."""

    exit_code = 6


class Interrupted(SumpoolError):  # noqa: N818 - an interruption is not an error
    """Interruption by a signal; progress so far is saved.

    Attributes:
        number: Signal number.
    """

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message or f"stopped by {signal.Signals(number).name}; the work is saved")
        self.number = number

    @property
    def status(self) -> int:
        """Exit code by shell convention: 128 + signal number."""
        return 128 + self.number


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python or a library reports exhausted memory, without importing torch."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | ImportError)
        and (type(error).__name__ == "OutOfMemoryError" or any(text in str(error) for text in _EXHAUSTED))
    )


def first_line(error: Exception) -> str:
    """Return the first line of the message of an error of a library; its class if it has none."""
    return str(error).strip().split("\n")[0] or type(error).__name__


def advise_smaller_batches(now: int | None = None) -> str:
    """Return what to do about a batch that memory cannot hold; `now` is the present `train.batch_tokens`."""
    present = "" if now is None else f", now {now},"
    halved = f"halve train.batch_tokens{present} and double train.accumulate"
    return f"{halved}, or train with --auto-batch, which divides such batches"
