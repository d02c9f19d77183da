"""Memory-mapped arrays of prepared data: raw little-endian files."""

import os
from pathlib import Path

import numpy as np

from sumpool.errors import DataError
from sumpool.io.bounded import open_regular


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
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
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


def require_offsets(offsets: np.ndarray, path: Path) -> None:
    """Check that offsets begin with 0 and never decrease, in each column.

    Raises:
        DataError: If they do not.
    """
    if offsets[0].any() or (np.diff(offsets, axis=0) < 0).any():
        raise DataError(f"{path} must hold offsets that begin with 0 and grow, got others; run sumpool prepare again")
