"""Transfer encodings of mails, also where programs on the way have damaged them."""

import binascii
import quopri
import re
from email.message import Message
from typing import Final

_TOKEN: Final = re.compile(r"[\w-]+")
_BASE64_LINE: Final = re.compile(rb"[A-Za-z0-9+/=\s]*")
_BASE64_CHUNK: Final = re.compile(rb"[A-Za-z0-9+/]+")
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/=]+")
_SOFT_BREAK: Final = re.compile(rb"=[ \t]*\r?\n")
_ESCAPE: Final = re.compile(rb"=(?:[0-9A-F]{2}|[ \t]*\r?\n)")
_LONG_SOFT_BREAK: Final = re.compile(rb"[^\r\n]{50,76}=[ \t]*\r?\n")
_STRAY_SIGN: Final = re.compile(rb"=(?![0-9A-F]{2}|[ \t]*\r?\n)")
_MIN_SOFT_BREAKS, _MIN_ESCAPES = 2, 3
"""Soft breaks, or escapes without a stray equals sign, from which on a text is quoted-printable that says it is not."""


def decode_body(part: Message) -> bytes:
    """Return the content of a part without its transfer encoding.

    A comment, quotes or spaces in the name of the encoding, base64 in several pieces, and a plain footer behind it,
    as mailing lists append one, are read as they are meant.
    """
    name = _TOKEN.search(str(part.get("Content-Transfer-Encoding", "")))
    encoding = name[0].lower() if name else ""
    if encoding not in ("uuencode", "x-uuencode", "uue", "x-uue"):
        del part["Content-Transfer-Encoding"]  # so that the payload is the bytes as they are
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    if encoding == "base64":
        return _decode_base64(content)
    if encoding == "quoted-printable" or _is_quoted_printable(content):
        return quopri.decodestring(_SOFT_BREAK.sub(b"=\n", content))
    return content


def _is_quoted_printable(content: bytes) -> bool:
    if len(_LONG_SOFT_BREAK.findall(content)) >= _MIN_SOFT_BREAKS:
        return True
    return len(_ESCAPE.findall(content)) >= _MIN_ESCAPES and not _STRAY_SIGN.search(content)


def _decode_base64(content: bytes) -> bytes:
    lines = content.split(b"\n")
    end = next((number for number, line in enumerate(lines) if not _BASE64_LINE.fullmatch(line)), len(lines))
    footer = lines[end:]
    if 2 * sum(not _BASE64_LINE.fullmatch(line) for line in footer) <= len(footer):  # a few wrong characters
        end, footer = len(lines), []
    chunks = _BASE64_CHUNK.findall(_NO_BASE64.sub(b"", b"".join(lines[:end])))
    decoded = b"".join(_decode_chunk(chunk) for chunk in chunks)
    return decoded + b"\n\n" + b"\n".join(footer) if footer else decoded


def _decode_chunk(chunk: bytes) -> bytes:
    whole = chunk[: len(chunk) - (len(chunk) % 4 == 1)]
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
