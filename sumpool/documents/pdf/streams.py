"""Check of the compressed streams of a PDF file, which PDFium would unpack to a gigabyte each."""

import re
import zlib
from collections.abc import Iterator
from typing import Final

from sumpool.documents.document import Limits

FREE_BYTES: Final = 64 * 2**20
"""Size of an unpacked stream below which every ratio is read: a white page in 600 dpi has a thousand to one."""
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_BLOCK: Final = 2**16
_LAYERS: Final = 4
"""Filters of one stream that are followed."""


def check_streams(content: bytes, limits: Limits) -> None:
    """Check that no stream of a PDF file unpacks to too much.

    Raises:
        ValueError: If one does; the message lacks the subject.
    """
    for match in _STREAM.finditer(content):
        end = content.find(b"endstream", match.end())
        blocks = _blocks(content, match.end(), len(content) if end < 0 else end)
        _check(blocks, limits, len(content), _LAYERS)


def _check(blocks: Iterator[bytes], limits: Limits, packed: int, layers: int) -> None:
    """Unpack the blocks of a stream, and what they unpack to, until the end or a limit."""
    first = next(blocks, b"")
    if layers and _is_deflated(first):
        _check(_limited(_inflate(first, blocks), limits, packed), limits, packed, layers - 1)
    elif layers < _LAYERS:
        for _ in blocks:
            pass


def _limited(blocks: Iterator[bytes], limits: Limits, packed: int) -> Iterator[bytes]:
    """Yield blocks, and raise a ValueError once they are too many."""
    size = 0
    for block in blocks:
        size += len(block)
        limits.check_bytes(size)
        if size > FREE_BYTES:
            limits.check_ratio(size, packed)
        yield block


def _blocks(content: bytes, start: int, end: int) -> Iterator[bytes]:
    for place in range(start, end, _BLOCK):
        yield content[place : min(place + _BLOCK, end)]


def _is_deflated(start: bytes) -> bool:
    """Return whether bytes begin with the header of a zlib stream."""
    return len(start) > 1 and start[0] & 0x0F == zlib.DEFLATED and int.from_bytes(start[:2]) % 31 == 0


def _inflate(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a zlib stream as far as it is intact, in blocks."""
    unpacker = zlib.decompressobj()
    packed: bytes | None = first
    while packed is not None:
        try:
            block = unpacker.decompress(packed, _BLOCK)
        except zlib.error:
            return
        yield block
        packed = None if unpacker.eof else unpacker.unconsumed_tail or next(rest, None)
