"""Decoding of text in any encoding: Unicode first, then a guess by chardet (extra `documents`).

A guess is stated in the notes of the document, and bytes that no encoding explains are named with their position.
"""

import re
from contextlib import suppress
from typing import Final, NamedTuple

from sumpool.text.cleaning import remove_invisible

_MARKS: Final = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""Byte-order marks, the longer ones first."""
_SHIFTS: Final = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"))
"""Escapes to the characters of encodings of seven bits, which are no text without them."""
_SPACES: Final = "\n\r\t\f\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u3000\ufeff"
"""Characters of text that are not printed."""
_MIN_UTF16_BYTES = 8
_MIN_GUESSED_BYTES = 16
"""Bytes of a text whose encoding can be guessed."""
_MAX_GUESSED_BYTES = 2**18
"""Bytes that a guess is made from."""
MIN_PER_NULL: Final = 1000
"""Characters for each null character of a text, as the paper tapes of early RFCs left some."""
_MIN_RIGHT = 10
"""Characters beyond ASCII for each wrong byte of a text that is UTF-8 all the same."""
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")


class DecodedText(NamedTuple):
    """Text of a file.

    Attributes:
        text: Text without invisible characters; form feeds, backspaces and escapes stay.
        notes: A guessed encoding and the number of invisible characters, one clause each.
    """

    text: str
    notes: tuple[str, ...]


def decode_text(content: bytes) -> DecodedText:
    """Decode the text of a file.

    Raises:
        ValueError: If the bytes are not text in a known encoding; the message lacks the subject.
    """
    text, encoding = _decode(content)
    if text.count("\0") * MIN_PER_NULL > len(text):
        raise ValueError(f"must be text, got a null character at position {text.index(chr(0))}")
    text, invisible = remove_invisible(text, layout=True)
    return DecodedText(text, (*((f"read as {encoding}",) if encoding else ()), *invisible_note(invisible)))


def _decode(content: bytes) -> tuple[str, str]:
    """Return the text and the name of an encoding other than UTF-8."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(encoding), encoding.upper()
            except UnicodeDecodeError as error:
                raise ValueError(f"must be {encoding.upper()}, got invalid bytes at position {error.start}") from error
    if encoding := unmarked_utf16(content):
        return content.decode(encoding), "UTF-16"
    for mark, encoding in _SHIFTS:
        if mark in content:
            with suppress(UnicodeDecodeError):
                return content.decode(encoding), encoding
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        byte = content[error.start]
        wrong = ValueError(f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")
        if len(content) < _MIN_GUESSED_BYTES:
            raise wrong from error
        return _guess(content, wrong)


def unmarked_utf16(content: bytes) -> str:
    """Return the byte order of text in UTF-16 without a mark; empty for other content.

    Text in UTF-16 has zero bytes in its spaces and line ends, which are no characters in the other order.
    """
    if len(content) <= _MIN_UTF16_BYTES or 0 not in content[:1024]:
        return ""
    orders: dict[str, int] = {}
    for encoding in ("utf-16-le", "utf-16-be"):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)[:512]
            western = sum(character.isascii() for character in text)
            if western and all(character.isprintable() or character in _SPACES for character in text):
                orders[encoding] = western
    return max(orders, key=lambda encoding: orders[encoding], default="")


def _guess(content: bytes, error: ValueError) -> tuple[str, str]:
    """Decode with the most probable encoding.

    Raises:
        ValueError: If there is none, or chardet is not installed.
    """
    text, note = _damaged_utf8(content)
    if note:
        return text, note
    try:
        from chardet import detect
    except ImportError:
        raise ValueError(f"{error}, or detect its encoding: pip install 'sumpool[documents]'") from error
    first = _HIGH_BYTE.search(content)
    start = max(0, first.start() - _MAX_GUESSED_BYTES // 8) if first else 0
    encoding = detect(content[start : start + _MAX_GUESSED_BYTES])["encoding"]
    if encoding is None:
        raise error
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as wrong:
        raise ValueError(
            f"must be text in one encoding, got byte 0x{content[wrong.start]:02x} at position {wrong.start}, which is "
            f"not {encoding}; convert it"
        ) from wrong


def _damaged_utf8(content: bytes) -> tuple[str, str]:
    """Decode UTF-8 with few wrong bytes, which become spaces; empty if most bytes beyond ASCII are wrong."""
    text = content.decode("utf-8", "replace")
    wrong = text.count("\ufffd") - content.count("\ufffd".encode())
    if _MIN_RIGHT * wrong > sum(character > "\x7f" for character in text):
        return "", ""
    first = len(text.partition("\ufffd")[0].encode())
    return text.replace(
        "\ufffd", " "
    ), f"UTF-8 without {wrong:,} wrong bytes, the first 0x{content[first]:02x} at {first}"


def invisible_note(count: int) -> tuple[str, ...]:
    """Return the note about removed invisible characters; none if there were none."""
    return (f"{count:,} invisible character{'s' if count > 1 else ''} removed",) if count else ()
