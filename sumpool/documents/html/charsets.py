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
_WEB_NAMES: Final = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}
"""Character sets that pages declare and those that they mean."""
_DECLARATION: Final = re.compile(
    rb"<meta\b[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,200}encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
_HEAD_BYTES: Final = 4096
"""Bytes of a page in which its character set is declared."""
_MAX_WRONG: Final = 0.01
"""Share of wrong bytes up to which a text keeps its declared character set."""


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
    codec = _codec(charset)
    if not codec or _is_unicode(content):
        return decode_text(content)
    text = content.decode(codec, "replace")
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


def _codec(charset: str) -> str:
    """Return the name of Python's codec for a character set; empty if there is none or it is none of text."""
    try:
        name = codecs.lookup(charset.strip()).name if charset.isascii() and "\0" not in charset else ""
    except LookupError:
        return ""
    return _WEB_NAMES.get(name, name) if _TEXT_CHARSETS.fullmatch(name) else ""
