"""Reading of GGUF files: metadata and tensors of the models of llama.cpp.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_SCALARS: Final = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 32
"""Weights of a block of quantised ones."""
_BLOCK_BYTES: Final = {0: 4 * _BLOCK, 1: 2 * _BLOCK, 2: 18, 3: 20, 8: 34}
"""Bytes of a block by type: float32, float16, and Q4_0, Q4_1 and Q8_0 with a scale, and a minimum, before them."""
_ALIGNMENT = 32


@dataclass(frozen=True)
class GgufTensor:
    """Place of a tensor in a file.

    Attributes:
        shape: Its sizes, rows first.
        kind: Type of its numbers.
        start: First byte.
    """

    shape: tuple[int, ...]
    kind: int
    start: int


def parse_gguf(data: mmap.mmap) -> tuple[Mapping[str, Any], Mapping[str, GgufTensor]]:
    """Return metadata and offsets of the tensors of a GGUF file.

    Raises:
        ValueError, LookupError, struct.error, OverflowError: If it is damaged or of another version.
    """
    position = 0

    def take(format: str) -> Any:  # noqa: ANN401 - a number of that format
        nonlocal position
        (value,) = struct.unpack_from(f"<{format}", data, position)
        position += struct.calcsize(f"<{format}")
        return value

    def text() -> str:
        nonlocal position
        size = take("Q")
        position += size
        return data[position - size : position].decode("utf-8")

    def value(kind: int) -> Any:  # noqa: ANN401 - whatever the file has
        if kind == _STRING:
            return text()
        if kind == _ARRAY:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(min(count, len(data)))]
        return take(_SCALARS[kind])

    if take("4s") != b"GGUF" or take("I") not in (2, 3):
        raise ValueError("no GGUF file of version 2 or 3")
    tensor_count, fact_count = take("Q"), take("Q")
    facts = {text(): value(take("I")) for _ in range(min(fact_count, len(data)))}
    found = []
    for _ in range(min(tensor_count, len(data))):
        name, axes = text(), take("I")
        shape = tuple(take("Q") for _ in range(axes))[::-1]
        found.append((name, shape, take("I"), take("Q")))
    start = -(-position // _ALIGNMENT) * _ALIGNMENT
    return facts, {name: GgufTensor(shape, kind, start + offset) for name, shape, kind, offset in found}


def dequantised(data: mmap.mmap, tensor: GgufTensor) -> NDArray[np.float32]:
    """Return the numbers of a tensor; quantised ones have a scale, and Q4_1 a minimum, for every 32."""
    blocks = int(np.prod(tensor.shape)) // _BLOCK
    size = _BLOCK_BYTES[tensor.kind]
    raw = np.frombuffer(data, np.uint8, blocks * size, tensor.start).reshape(blocks, size)
    if tensor.kind in (0, 1):
        values = raw.copy().view(np.float32 if tensor.kind == 0 else np.float16)
    elif tensor.kind == 8:
        values = raw[:, 2:].view(np.int8) * raw[:, :2].view(np.float16).astype(np.float32)
    else:
        head = raw[:, : size - 16].copy().view(np.float16).astype(np.float32)  # scale, and minimum
        nibbles = np.hstack([raw[:, -16:] & 15, raw[:, -16:] >> 4])
        values = nibbles * head[:, :1] + (head[:, 1:] if tensor.kind == 3 else -8 * head[:, :1])
    return np.asarray(values, np.float32).reshape(tensor.shape)
