"""Reading within limits: regular files only, JSON of bounded size and depth, and headers of safetensors files.

A parser of Python descends one level of its stack for every bracket, and needs up to 30 bytes for a byte of JSON, so
that the limits are checked on the text, before it is parsed. The library of safetensors needs a gigabyte and 20 seconds
for a header of its own limit, 100 MB.
"""

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import IO, Any, Final

from sumpool.errors import SumpoolError

MAX_BYTES: Final = 64 << 20
"""Bytes of a JSON text; the largest file of a model, its tokenizer, has 2 to 20 million."""
MAX_DEPTH: Final = 64
"""Brackets around a value; files of models have at most 10."""
MAX_VALUES: Final = 2_000_000
"""Values of a JSON text; the tokenizer of BART has 150,000."""

MAX_HEADER_BYTES: Final = 4 << 20
"""Bytes of the header of a safetensors file, about 100 for a tensor."""

_CHUNK: Final = 1 << 20
"""Bytes that are read at a time."""
_LENGTH_BYTES: Final = 8
_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[{\]}]")
_KINDS: Final = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "a named pipe"),
    (lambda mode: not stat.S_ISREG(mode), errno.EINVAL, "a device"),
)
_READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
"""Flags of opening a file for reading, without waiting for the writer of a named pipe."""


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading bytes; a named pipe or a device is refused, and never waited for.

    Raises:
        OSError: If there is no such file, it cannot be read, or it is not a regular one.
    """
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except ValueError as error:  # a null character or a lone surrogate in the name
        raise OSError(errno.EINVAL, f"not a file name: {error}") from error
    mode = os.fstat(descriptor).st_mode
    for is_kind, number, kind in _KINDS:
        if is_kind(mode):
            os.close(descriptor)
            raise OSError(number, f"{kind} instead of a regular file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a regular file of bounded size.

    Raises:
        OSError: As `open_regular`, or if the file has more bytes.
    """
    content = bytearray()  # `read` would allocate as much as it is asked for
    with open_regular(path) as file:
        while len(content) <= max_bytes and (chunk := file.read(min(_CHUNK, max_bytes + 1 - len(content)))):
            content += chunk
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"more than {max_bytes:,} bytes")
    return bytes(content)


def parse_json(content: bytes | str, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Any:  # noqa: ANN401 - any JSON
    """Parse JSON, in UTF-8 if it is bytes.

    Raises:
        ValueError: If the text is not JSON or exceeds a limit; the message says what it is ("more than 64 levels").
    """
    if len(content) > max_bytes:
        raise ValueError(f"more than {max_bytes:,} bytes")
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        _check_structure(text, max_values)
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno} " if error.lineno > 1 else ""
        raise ValueError(f"{error.msg} at {line}column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{error.object[error.start]:02x} at position {error.start}, not UTF-8") from error


def read_json(path: Path, error_type: type[SumpoolError], advice: str) -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: The file.
        error_type: Type of the error.
        advice: What to do about a file that cannot be read, for the message.

    Raises:
        SumpoolError: If the file is missing, no regular file, damaged, beyond a limit, or holds anything else.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise error_type(f"{path} must be JSON that can be read, got: {error.strerror}; {advice}") from error
    return parse_object(content, path, error_type, advice)


def parse_object(content: bytes, path: Path, error_type: type[SumpoolError], advice: str) -> dict[str, Any]:
    """Return the JSON object that a file holds, given its content; arguments and errors of `read_json`."""
    try:
        tree = parse_json(content)
    except ValueError as error:
        raise error_type(f"{path} must be JSON, got: {error}; {advice}") from error
    if not isinstance(tree, dict):
        raise error_type(f"{path} must hold a JSON object, got {type(tree).__name__}; {advice}")
    return tree


def check_tensor_header(source: Path | bytes) -> None:
    """Check the length of the header of a safetensors file; its library checks everything else.

    Args:
        source: The file, or its content.

    Raises:
        OSError: If it is no regular file that can be read.
        ValueError: If the header is too long.
    """
    if isinstance(source, Path):
        with open_regular(source) as file:
            source = file.read(_LENGTH_BYTES)
    if (length := int.from_bytes(source[:_LENGTH_BYTES], "little")) > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length:,} bytes")


def _check_structure(text: str, max_values: int) -> None:
    """Raise a ValueError if a text has too many brackets in each other, or too many values."""
    if text.count("[") + text.count("{") <= MAX_DEPTH and text.count(",") < max_values:
        return
    # At least one quote of every string, and at most two, are behind no backslash. Names are strings too.
    has_many_strings = text.count('"') - text.count('\\"') > 4 * max_values
    structure = "" if has_many_strings else _STRING.sub("", text)
    values = structure.count(",") + structure.count("[") + structure.count("{")
    if has_many_strings or values > max_values:
        raise ValueError(f"more than {max_values:,} values")
    depth = 0
    for bracket in _BRACKET.finditer(structure):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} levels of brackets")
        if depth < 0:
            return  # not JSON
