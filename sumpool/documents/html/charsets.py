"""Decoding of text whose character set is declared, as by pages and mails."""

import codecs
import re
from typing import Final

from sumpool.documents.decoding import DecodedText, decode_text, invisible_note
from sumpool.text.cleaning import remove_invisible

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


def decode_page(content: bytes) -> DecodedText:
    """Decode an HTML or XHTML page.

    Raises:
        ValueError: If the bytes are not text; the message lacks the subject.
    """
    declared = _DECLARATION.search(content[:_HEAD_BYTES])
    return decode_declared(content, (declared[1] or declared[2]).decode("ascii", "ignore") if declared else "")


def decode_declared(content: bytes, charset: str) -> DecodedText:
    """Decode text with its declared character set; text that is UTF-8 all the same, or declares none, is guessed.

    Args:
        content: Bytes of the text.
        charset: Declared name; empty if there is none.

    Raises:
        ValueError: If the bytes are not text; the message lacks the subject.
    """
    codec = text_codec(charset)
    if not codec or _is_unicode(content):
        return decode_text(content)
    text = content.decode(codec, _JAPANESE_ERRORS if codec in _JAPANESE else "replace")
    wrong = text.count("\ufffd")
    if wrong > _MAX_WRONG * len(text):
        return decode_text(content)
    text, invisible = remove_invisible(text.replace("\ufffd", " ").replace("\0", " "), layout=True)
    notes = (f"{wrong:,} wrong byte{'s' if wrong > 1 else ''} removed",) if wrong else ()
    return DecodedText(text, (*notes, *invisible_note(invisible)))


def _is_unicode(content: bytes) -> bool:
    """Return whether a text has a byte-order mark, or characters beyond ASCII that are valid UTF-8."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return True
    try:
        return not content.isascii() and content.decode("utf-8") != ""
    except UnicodeDecodeError:
        return False


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
