"""Files of prepared data: plain little-endian arrays, mapped into memory."""

from pathlib import Path

import numpy as np

from sumpool.errors import DataError


def open_array(path: Path, kind: np.dtype, length: int | None = None) -> np.ndarray:
    """Map a file of numbers into memory, read-only.

    Args:
        path: The file.
        kind: Type of a number.
        length: How many numbers there must be; None takes what is there.

    Raises:
        DataError: If the file is missing or has another size.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path} must exist in prepared data, got {error.strerror}; run sumpool prepare") from error
    expected = size - size % kind.itemsize if length is None else length * kind.itemsize
    if size != expected or (length is None and not size):
        raise DataError(
            f"{path} must have {expected} bytes, got {size}; the file is damaged, run sumpool prepare again"
        )
    if not size:
        return np.empty(0, kind)  # an empty file cannot be mapped
    return np.memmap(path, kind, mode="r")
