"""Memory-mapped arrays of prepared data: raw little-endian files."""

from pathlib import Path

import numpy as np

from sumpool.errors import DataError


def open_array(path: Path, dtype: np.dtype, length: int | None = None) -> np.ndarray:
    """Map a file into memory as a read-only array.

    Args:
        path: The file.
        dtype: Type of the elements.
        length: Expected number of elements; by default all in the file, at least one.

    Raises:
        DataError: If the file is missing or of another size.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path} must exist in prepared data, got {error.strerror}; run sumpool prepare") from error
    expected = size - size % dtype.itemsize if length is None else length * dtype.itemsize
    if size != expected or (length is None and not size):
        raise DataError(
            f"{path} must have {expected} bytes, got {size}; the file is damaged, run sumpool prepare again"
        )
    if not size:
        return np.empty(0, dtype)  # an empty file cannot be mapped
    return np.memmap(path, dtype, mode="r")
