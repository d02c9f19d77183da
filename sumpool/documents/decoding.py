"""Decoding of text in any encoding: Unicode first, then a guess by chardet (extra `documents`).

A guess is stated in the notes of the document, and bytes that no encoding explains are named with their position.
"""

import codecs
import re
from contextlib import suppress
from typing import Final

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


Decoded = tuple[str, tuple[str, ...]]
"""Text of a file without invisible characters, in which form feeds, backspaces and escapes stay; and notes: a guessed
encoding and the number of invisible characters, one clause each."""


def decode_text(content: bytes) -> Decoded:
    """Decode the text of a file.

    Raises:
        ValueError: If the bytes are not text in a known encoding; the message lacks the subject.
    """
    text, encoding = _decode(content)
    if text.count("\0") * MIN_PER_NULL > len(text):
        raise ValueError(f"must be text, got a null character at position {text.index(chr(0))}")
    text, invisible = remove_invisible(text, layout=True)
    return text, (*((f"read as {encoding}",) if encoding else ()), *invisible_note(invisible))


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
    """Decode UTF-8 with few wrong bytes, which become spaces, or else the most probable encoding."""
    text = content.decode("utf-8", "replace")
    wrong_bytes = text.count("\ufffd") - content.count("\ufffd".encode())
    if _MIN_RIGHT * wrong_bytes <= sum(character > "\x7f" for character in text):
        at = len(text.partition("\ufffd")[0].encode())
        note = f"UTF-8 without {wrong_bytes:,} wrong bytes, the first 0x{content[at]:02x} at {at}"
        return text.replace("\ufffd", " "), note
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


def invisible_note(count: int) -> tuple[str, ...]:
    """Return the note about removed invisible characters; none if there were none."""
    return (f"{count:,} invisible character{'s' if count > 1 else ''} removed",) if count else ()


_TEXT_CHARSETS: Final = re.compile(
    r"iso8859-\d+|cp\d+|koi8-\w|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+|ascii|tis-620|johab|hz|"
    r"ptcp154|kz1048|utf-[78]"
)
_WEB_NAMES: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
"""Character sets that pages and mails declare, and the larger ones that they mean (WHATWG Encoding Standard)."""
_WINDOWS: Final = re.compile(r"(?:x-)?(?:windows-|ms-)(?=\d)")
_JAPANESE: Final = ("iso2022_jp", "euc_jp")
"""Character sets of 94 rows, in which Python knows no characters of Windows."""
_DECLARATION: Final = re.compile(
    rb"<meta\b[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,200}encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
_HEAD_BYTES: Final = 4096
"""Bytes of a page in which its character set is declared."""
_MAX_WRONG: Final = 0.01
"""Share of wrong bytes up to which a text keeps its declared character set."""

_JAPANESE_ERRORS: Final = "sumpool.japanese"


def decode_page(content: bytes) -> Decoded:
    """Decode an HTML or XHTML page.

    Raises:
        ValueError: If the bytes are not text; the message lacks the subject.
    """
    declared = _DECLARATION.search(content[:_HEAD_BYTES])
    return decode_declared(content, (declared[1] or declared[2]).decode("ascii", "ignore") if declared else "")


def decode_declared(content: bytes, charset: str) -> Decoded:
    """Decode text with its declared character set; text that is UTF-8 all the same, or declares none, is guessed.

    Args:
        content: Bytes of the text.
        charset: Declared name; empty if there is none.

    Raises:
        ValueError: If the bytes are not text; the message lacks the subject.
    """
    codec = text_codec(charset)
    is_unicode = content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    if not is_unicode and not content.isascii():
        with suppress(UnicodeDecodeError):
            is_unicode = content.decode("utf-8") != ""
    if not codec or is_unicode:
        return decode_text(content)
    text = content.decode(codec, _JAPANESE_ERRORS if codec in _JAPANESE else "replace")
    wrong = text.count("\ufffd")
    if wrong > _MAX_WRONG * len(text):
        return decode_text(content)
    text, invisible = remove_invisible(text.replace("\ufffd", " ").replace("\0", " "), layout=True)
    notes = (f"{wrong:,} wrong byte{'s' if wrong > 1 else ''} removed",) if wrong else ()
    return text, (*notes, *invisible_note(invisible))


def text_codec(charset: str) -> str:
    """Return the name of Python's codec for a character set; empty if there is none or it is none of text."""
    charset = _WINDOWS.sub("cp", charset.strip().lower()).removeprefix("x-")
    try:
        name = codecs.lookup(charset).name if charset.isascii() and "\0" not in charset else ""
    except LookupError:
        return ""
    return _WEB_NAMES.get(name, name) if _TEXT_CHARSETS.fullmatch(name) else ""


def _decode_windows_rows(error: UnicodeError) -> tuple[str, int]:
    """Decode a character of Windows in a Japanese text: its row and cell are written as Shift-JIS writes them."""
    assert isinstance(error, UnicodeDecodeError)
    row, cell = (byte & 0x7F for byte in (*error.object[error.start : error.start + 2], 0, 0)[:2])
    if not (0x21 <= row <= 0x7E and 0x21 <= cell <= 0x7E):
        return "\ufffd", max(error.end, error.start + 1)
    lead = (row - 0x21) // 2 + (0x81 if row < 0x5F else 0xC1)
    trail = cell + (0x1F + (cell >= 0x60) if row % 2 else 0x7E)
    return bytes((lead, trail)).decode("cp932", "replace")[:1], error.start + 2


codecs.register_error(_JAPANESE_ERRORS, _decode_windows_rows)
