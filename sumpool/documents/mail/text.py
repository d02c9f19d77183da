"""Plain text of mails: lines of `format=flowed`, quoted replies, signatures, disclaimers and footers of lists.

Transfer encodings are read also where programs on the way have damaged them.
"""

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

_QUOTE: Final = re.compile(r"[ \t]{0,3}(?:[A-Z]{1,3})?>(?!From )")
_DEPTH: Final = re.compile(r">*")
_WROTE: Final = (
    r"wrote|writes|said|schrieb(?:en)?|(?:a|avez) \u00e9crit|escribi\u00f3|escreveu|ha scritto|schreef|skrev|"
    r"napsal\(?a?\)?|pisze|napisa\u0142\(?a?\)?|\u043f\u0438\u0448\u0435\u0442|"
    r"(?:\u043d\u0430)?\u043f\u0438\u0441\u0430\u043b\(?\u0430?\)?"
)
_ATTRIBUTION: Final = re.compile(
    rf"(?=.*[\d@<])[^>].*\b(?:{_WROTE})\b(?:(?!\. )[^!?]){{0,120}}:", re.IGNORECASE | re.DOTALL
)
"""Line before a quotation, with a date or an address."""
_NAMED: Final = re.compile(rf"[^>.!?:]{{1,60}}\b(?:{_WROTE}):", re.IGNORECASE)
"""Line before a quotation that is marked, with a name."""
_ATTRIBUTION_START: Final = re.compile(
    r"(?:on|am|le|el|il|em|op|den|dne|w dniu|at)\b|.*@|\d|.*\b(?:wrote|schrieb|writes)\b", re.IGNORECASE
)
_MAX_ATTRIBUTION_LINES: Final = 4
_MAX_ATTRIBUTION: Final = 300
"""Characters of such a line."""
_ORIGINAL: Final = re.compile(
    r"[-_\s]{2,}(?:original (?:message|appointment)|reply message|urspr\u00fcngliche nachricht|"
    r"message d['\u2019]origine|message original|mensaje original|messaggio originale|mensagem original|"
    r"oorspronkelijk bericht|"
    r"\u0418\u0441\u0445\u043e\u0434\u043d\u043e\u0435 \u0441\u043e\u043e\u0431\u0449\u0435\u043d\u0438\u0435)"
    r"[-_\s]{2,}",
    re.IGNORECASE,
)
_FORWARDED: Final = re.compile(
    r"-*\s*(?:begin )?(?:forwarded message|weitergeleitete nachricht|anfang der weitergeleiteten nachricht|"
    r"message transf\u00e9r\u00e9|d\u00e9but du message r\u00e9exp\u00e9di\u00e9|mensaje reenviado)\s*:?\s*-*",
    re.IGNORECASE,
)
HEADER_FIELD: Final = re.compile(
    r"\*?(?:from|sent|to|cc|bcc|date|subject|reply-to|von|gesendet|an|datum|betreff|de|envoy\u00e9|\u00e0|objet|"
    r"date|para|"
    r"enviado|asunto|da|inviato|a|oggetto|\u043e\u0442|\u043a\u043e\u043c\u0443|\u0434\u0430\u0442\u0430|"
    r"\u0442\u0435\u043c\u0430)\s?:\*?\s",
    re.IGNORECASE,
)
_MIN_FIELDS: Final = 3
"""Fields in successive lines from which they are the header of a quoted mail."""
_RULE: Final = re.compile(r"[_\-=*#]{10,}\s*")
MOBILE: Final = re.compile(
    r"-*(?:sent (?:from|via|with) (?:my |the )?\w+.{0,40}|von meinem .{1,30} gesendet|gesendet (?:mit|von) .{1,40}|"
    r"envoy\u00e9 (?:de|depuis) mon .{1,30}|enviado desde mi .{1,30}|get outlook for .{1,40}|"
    r"diese nachricht wurde von meinem .{1,60} gesendet\.?)\s*",
    re.IGNORECASE,
)
_LIST_FOOTER: Final = re.compile(
    r"unsubscribe|listinfo|mailing list\b.{0,80}(?:$|https?:|@)|abbestellen|d\u00e9sabonn|d\u00e9sinscri|"
    r"list-?archive|"
    r"you (?:are receiving|received) this (?:e-?mail|message) because|"
    r"\u043e\u0442\u043f\u0438\u0441\u0430\u0442\u044c\u0441\u044f",
    re.IGNORECASE,
)
_DISCLAIMER: Final = re.compile(
    r"(?=.*\b(?:confidential|privileged|vertraulich|confidentiel|confidencial))"
    r"(?=.*\b(?:recipient|addressee|intended|empf\u00e4nger|adressat|destinataire|destinatario))",
    re.IGNORECASE | re.DOTALL,
)
_MAX_SIGNATURE_LINES: Final = 15
"""Lines after "--" without its space that are taken for a signature."""
_MAX_FOOTER_PARAGRAPHS: Final = 4
_SIGNED: Final = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE: Final = re.compile(r"^-----BEGIN PGP SIGNATURE-----.*?(?:^-----END PGP SIGNATURE-----$|\Z)", re.M | re.S)


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


def join_flowed(text: str, delete_space: bool) -> str:
    """Join the lines of a text in `format=flowed` (RFC 3676).

    Args:
        text: Text.
        delete_space: Whether the space at the end of a flowed line is not part of the text ("delsp").
    """
    lines: list[list[str]] = []
    flowing = False
    depth = -1
    for line in text.split("\n"):
        line = line.rstrip("\r")
        quotes = len(_DEPTH.match(line)[0])  # type: ignore[index]
        content = line[quotes:].removeprefix(" ")
        if flowing and quotes == depth and content != "-- ":
            lines[-1].append(content)
        else:
            lines.append(["> " if quotes else "", content])
        depth = quotes
        flowing = content.endswith(" ") and content != "-- "
        if flowing and delete_space:
            lines[-1][-1] = content[:-1]
    return "\n".join("".join(line) for line in lines)


def written_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what the sender of a mail wrote, and notes about what was removed.

    A mail of quotations only keeps them.
    """
    lines = [line.rstrip("\r") for line in _without_signing(text).split("\n")]
    kept = _without_footers(_without_signature(_without_quotations(lines)))
    if any(line.strip() for line in kept):
        quoted = sum(bool(_QUOTE.match(line)) for line in lines)
        return "\n".join(kept), ((f"{quoted} quoted line{'s' if quoted > 1 else ''} removed",) if quoted else ())
    unquoted = "\n".join(re.sub(r"^[ \t]*(?:>[ \t]?)+", "", line) for line in lines)
    return unquoted, (("nothing but quotations and a signature, which are kept",) if unquoted.strip() else ())


def is_quotation_start(text: str) -> bool:
    """Return whether a paragraph begins the quotation of another mail, which is all that follows."""
    text = text.strip()
    if _ORIGINAL.match(text):
        return True
    fields = HEADER_FIELD.findall(text)
    if HEADER_FIELD.match(text) and len({field.lower() for field in fields}) >= _MIN_FIELDS:
        return True
    return len(text) < _MAX_ATTRIBUTION and bool(_ATTRIBUTION.fullmatch(text)) and bool(_ATTRIBUTION_START.match(text))


def is_footer(text: str) -> bool:
    """Return whether a paragraph is the footer of a list, a disclaimer or the signature of a telephone."""
    return bool(_LIST_FOOTER.search(text) or _DISCLAIMER.match(text) or MOBILE.fullmatch(text))


def _without_signing(text: str) -> str:
    """Remove the frame of a text that is signed with OpenPGP."""
    start = text.find(_SIGNED)
    if start >= 0:
        _, _, signed = text[start:].partition("\n\n")
        text = text[:start] + re.sub(r"^- ", "", signed, flags=re.MULTILINE)
    return _SIGNATURE.sub("", text)


def _without_quotations(lines: list[str]) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if _QUOTE.match(line):
            _drop_attribution(kept)
        elif _FORWARDED.fullmatch(line.strip()):
            position = _after_header(lines, position + 1)
            continue
        elif _starts_quotation(lines, position):
            break
        else:
            kept.append(line.removeprefix(">") if line.startswith(">From ") else line)
        position += 1
    return kept


def _drop_attribution(kept: list[str]) -> None:
    """Remove the line "On ... wrote:" at the end of the lines before a quotation."""
    end = len(kept)
    while len(kept) - end < min(_MAX_ATTRIBUTION_LINES, len(kept)) and not kept[end - 1].strip():
        end -= 1
    first = end
    for start in range(end - 1, max(-1, end - 1 - _MAX_ATTRIBUTION_LINES), -1):
        line = kept[start].strip()
        if not line or len(line) > _MAX_ATTRIBUTION or (start < end - 1 and line[-1] in ".!?"):
            break
        text = " ".join(kept[start:end]).strip()
        if _NAMED.fullmatch(text) or (_ATTRIBUTION_START.match(line) and _ATTRIBUTION.fullmatch(text)):
            first = start
    if first < end:
        del kept[first:]


def _starts_quotation(lines: list[str], position: int) -> bool:
    """Return whether all that follows is the quotation of another mail, without marks."""
    line = lines[position].strip()
    if not line:
        return False
    if _ORIGINAL.fullmatch(line):
        return True
    if HEADER_FIELD.match(line):
        return _after_header(lines, position) - position >= _MIN_FIELDS
    if position and lines[position - 1].strip() and not _RULE.fullmatch(lines[position - 1]):
        return False
    for end in range(position + 1, min(position + _MAX_ATTRIBUTION_LINES, len(lines)) + 1):
        if not lines[end - 1].strip():
            return False
        text = " ".join(lines[position:end]).strip()
        if text.endswith(":") and is_quotation_start(text):
            following = next((line for line in lines[end:] if line.strip()), ">")
            return not _QUOTE.match(following)
    return False


def _after_header(lines: list[str], position: int) -> int:
    """Return the position after the fields of a header and the empty lines before them."""
    while position < len(lines) and not lines[position].strip():
        position += 1
    while position < len(lines) and (HEADER_FIELD.match(lines[position].strip() + " ")):
        position += 1
    return position


def _without_signature(lines: list[str]) -> list[str]:
    rest = sum(bool(line.strip()) for line in lines)
    for position, line in enumerate(lines):
        rest -= bool(line.strip())
        if line == "-- " or (line.strip() == "--" and rest <= _MAX_SIGNATURE_LINES):
            return lines[:position]
    return [line for line in lines if not MOBILE.fullmatch(line.strip())]


def _without_footers(lines: list[str]) -> list[str]:
    """Remove the footers in the last paragraphs, and what follows the first of them."""
    paragraphs = re.split(r"\n[ \t]*\n", "\n".join(lines).rstrip())
    first = max(0, len(paragraphs) - _MAX_FOOTER_PARAGRAPHS)
    for position in range(max(first, 1), len(paragraphs)):
        head, _, rest = paragraphs[position].partition("\n")
        text = rest if _RULE.fullmatch(head) else paragraphs[position]
        if is_footer(text) and len(text.split("\n")) < _MAX_SIGNATURE_LINES:
            return "\n\n".join(paragraphs[:position]).split("\n")
    return lines
