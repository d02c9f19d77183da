"""Mails (.eml, .mbox): what their senders wrote, without quoted replies, signatures, disclaimers and footers of lists.

The subject is the title. Plain text is preferred to HTML, and attachments are named in the notes. Base64 is read also
where programs on the way have damaged it.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from email import message_from_bytes, policy
from email.errors import HeaderParseError, MessageError
from email.header import Header, decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from typing import Final

from sumpool.documents.decoding import decode_declared
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, is_prose
from sumpool.documents.formats.text import text_blocks
from sumpool.documents.markup import HtmlBlocks, PageParts, parse_markup

_MIN_PLAIN_SHARE: Final = 0.1
"""Share of the words of the HTML part below which a plain part is a stub ("This mail is HTML")."""
_PGP_MESSAGE: Final = "-----BEGIN PGP MESSAGE-----"
_BOUNDARY: Final = re.compile(r"^--([^\s\"][^\r\n\"]{0,69})\r?\n(?=Content-[\w-]+:)", re.MULTILINE | re.IGNORECASE)
"""Line before a part of a mail, followed by a field of its header."""
_MAX_NAMES: Final = 10
"""Attachments that are named."""
_MAX_FIELD: Final = 2**16
"""Characters of a field that are decoded, which takes the square of its encoded words."""


@dataclass
class _Body:
    """Content of a mail."""

    blocks: list[TextBlock] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)  # names of the parts that are left out
    notes: list[str] = field(default_factory=list)


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:  # noqa: ARG001 - the interface of formats
    """Read a mail.

    Raises:
        ValueError: If the content is no mail, or is encrypted; the message lacks the subject.
    """
    body = _Body()
    try:
        message = message_from_bytes(content, policy=policy.compat32)
        if content.strip() and not message.keys():
            raise ValueError("must be a mail, got a text without a header; name it .txt to read it as a text")
        _read_part(message, body)
    except (MessageError, LookupError, AttributeError, TypeError) as error:  # on some malformed headers
        raise ValueError(f"must be a mail, got a malformed header: {error}") from error
    if not body.blocks and len(body.attachments) == 1:  # a mail that another without a text encloses
        enclosed = [part for part in message.walk() if part.get_content_type() == "message/rfc822"]
        for inner in _inner_parts(enclosed[0]) if enclosed else ():
            _read_part(inner, body)
    blocks = tuple(replace(block, line=None) for block in body.blocks)
    if count := len(body.attachments):
        names = ", ".join(body.attachments[:_MAX_NAMES]) + (" ..." if count > _MAX_NAMES else "")
        body.notes.append(f"{count} attachment{'s' if count > 1 else ''} left out: {names}")
    return ParsedDocument(blocks, _decoded(message.get("Subject", "")), tuple(dict.fromkeys(body.notes)))


def _read_part(part: Message, body: _Body) -> None:
    """Read a part of a mail and those inside it."""
    kind = part.get_content_type()
    if kind in ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"):
        if part.get_param("smime-type") == "signed-data":
            raise ValueError("must hold its text in the clear, got a mail inside its S/MIME signature; save its text")
        raise ValueError("must not be encrypted, got an encrypted mail; save it decrypted")
    inner = _inner_parts(part)
    if part.get_content_disposition() == "attachment" or kind == "message/rfc822":
        body.attachments.append(_name(part))
    elif kind == "multipart/alternative":
        alternatives = [_Body() for _ in inner]  # the plain one is read, or HTML if there is none or it is a stub
        for child, alternative in zip(inner, alternatives, strict=True):
            _read_part(child, alternative)
            body.attachments.extend(alternative.attachments)
        sizes = [sum(len(block.text.split()) for block in alternative.blocks) for alternative in alternatives]
        for size, alternative in zip(sizes, alternatives, strict=True):
            if size and size >= _MIN_PLAIN_SHARE * max(sizes):
                body.blocks.extend(alternative.blocks)
                body.notes.extend(alternative.notes)
                break
    elif kind in ("multipart/signed", "multipart/report", "multipart/related"):
        # The text is the part that is named, or the first with text; the others are attachments.
        start = str(part.get_param("start", "")).strip("<> ")
        named = [child for child in inner if start and child.get("Content-ID", "").strip("<> ") == start]
        texts = [child for child in inner if child.get_content_maintype() in ("text", "multipart")]
        root = next(iter((*named, *texts, *inner)), None)
        for child in inner:
            if child is root:
                _read_part(child, body)
            elif (name := child.get_filename()) and name != "signature.asc":
                body.attachments.append(name)
    elif inner:
        for child in inner:
            _read_part(child, body)
    elif kind in ("text/plain", "text/html"):
        _read_text(part, kind, body)
    elif not kind.startswith("multipart/"):
        body.attachments.append(_name(part))


def _read_text(part: Message, kind: str, body: _Body) -> None:
    content = _decode_body(part)
    try:
        text, notes = decode_declared(content, part.get_content_charset() or "")
    except ValueError:
        text, notes = content.decode("cp1252", "replace").replace("\0", " "), ("read as cp1252",)
    body.notes.extend(notes)
    if kind == "text/html":
        tree = parse_markup(text)
        for parent in (tree, *tree.descendants()):  # of which mail programs put quoted mails and signatures in some
            rest = False
            for child in parent.children:
                if isinstance(child, str):
                    continue
                names = child.names()
                rest = rest or not _REST_NAMES.isdisjoint(names)
                is_cited = child.tag == "blockquote" and child.attributes.get("type", "").lower() == "cite"
                is_quotation = is_cited or not _QUOTATION_NAMES.isdisjoint(names)
                if rest or (is_quotation and not _FORWARDED_RULE.search(child.text()[:500])):
                    child.attributes["hidden"] = ""
        blocks = HtmlBlocks(PageParts(max(tree.size, 1), site=False)).read(tree)
        body.blocks.extend(list(_written_blocks(blocks)) or blocks)
        return
    if text.lstrip().startswith(_PGP_MESSAGE):
        raise ValueError("must not be encrypted, got an encrypted mail; save it decrypted")
    if str(part.get_param("format", "")).lower() == "flowed":
        text = join_flowed(text, str(part.get_param("delsp", "")).lower() == "yes")
    text, notes = _written_text(text)
    body.notes.extend(notes)
    body.blocks.extend(_written_blocks(text_blocks(text)))


def _inner_parts(part: Message) -> list[Message]:
    """Return the parts inside a part, also where its boundary is not the one that its header names."""
    payload = part.get_payload()
    if isinstance(payload, str) and part.get_content_maintype() == "multipart":
        boundary = _BOUNDARY.search(payload)
        header = f'Content-Type: multipart/mixed; boundary="{boundary[1]}"' if boundary else "Content-Type: text/plain"
        text = f"{header}\n\n{payload}".encode("utf-8", "surrogateescape")
        message = message_from_bytes(text, policy=policy.compat32)
        payload = message.get_payload() if boundary else [message]
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _name(part: Message) -> str:
    """Return the name of an attachment, or its type."""
    inner = _inner_parts(part)
    subject = inner[0].get("Subject", "") if part.get_content_type() == "message/rfc822" and inner else ""
    return _decoded(part.get_filename() or "") or _decoded(subject) or part.get_content_type()


def _decoded(value: str | Header) -> str:
    """Return a value of a header with its encoded words decoded; a `Header` has bytes that are not ASCII."""
    try:
        fragments = decode_header(value[:_MAX_FIELD] if isinstance(value, str) else value)
    except (HeaderParseError, ValueError, binascii.Error):
        return " ".join(str(value).split())
    texts = []
    for text, charset in fragments:
        try:
            texts.append(text if isinstance(text, str) else decode_declared(text, charset or "")[0])
        except ValueError:
            texts.append(text.decode("latin-1"))
    return " ".join("".join(texts).split())


_TOKEN: Final = re.compile(r"[\w-]+")
_BASE64_LINE: Final = re.compile(rb"[A-Za-z0-9+/=\s]*")
_BASE64_CHUNK: Final = re.compile(rb"[A-Za-z0-9+/]+")
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/=]+")

_QUOTE: Final = re.compile(r"[ \t]{0,3}(?:[A-Z]{1,3})?>(?!From )")
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


def _decode_body(part: Message) -> bytes:
    """Return the content of a part without its transfer encoding.

    A comment, quotes or spaces in the name of the encoding, base64 in several pieces, and a plain footer behind it,
    as mailing lists append one, are read as they are meant.
    """
    name = _TOKEN.search(str(part.get("Content-Transfer-Encoding", "")))
    del part["Content-Transfer-Encoding"]
    if name and name[0].lower() != "base64":
        part["Content-Transfer-Encoding"] = name[0]
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    if not name or name[0].lower() != "base64":
        return content
    lines = content.split(b"\n")
    end = next((number for number, line in enumerate(lines) if not _BASE64_LINE.fullmatch(line)), len(lines))
    footer = lines[end:]
    if 2 * sum(not _BASE64_LINE.fullmatch(line) for line in footer) <= len(footer):  # a few wrong characters
        end, footer = len(lines), []
    chunks = _BASE64_CHUNK.findall(_NO_BASE64.sub(b"", b"".join(lines[:end])))
    whole = [chunk[: len(chunk) - (len(chunk) % 4 == 1)] for chunk in chunks]
    decoded = b"".join(binascii.a2b_base64(chunk + b"=" * (-len(chunk) % 4)) for chunk in whole)
    return decoded + b"\n\n" + b"\n".join(footer) if footer else decoded


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
        quotes = len(line) - len(line.lstrip(">"))
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


def _written_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what the sender of a mail wrote, and notes about what was removed.

    A mail of quotations only keeps them.
    """
    start = text.find(_SIGNED)
    if start >= 0:  # the frame of a text that is signed with OpenPGP
        _, _, signed = text[start:].partition("\n\n")
        text = text[:start] + re.sub(r"^- ", "", signed, flags=re.MULTILINE)
    lines = [line.rstrip("\r") for line in _SIGNATURE.sub("", text).split("\n")]
    kept = _without_quotations(lines)
    rest = sum(bool(line.strip()) for line in kept)
    for position, line in enumerate(kept):  # the signature
        rest -= bool(line.strip())
        if line == "-- " or (line.strip() == "--" and rest <= _MAX_SIGNATURE_LINES):
            kept = kept[:position]
            break
    else:
        kept = [line for line in kept if not MOBILE.fullmatch(line.strip())]
    # Footers in the last paragraphs, and what follows the first of them.
    paragraphs = re.split(r"\n[ \t]*\n", "\n".join(kept).rstrip())
    for position in range(max(1, len(paragraphs) - _MAX_FOOTER_PARAGRAPHS), len(paragraphs)):
        head, _, below = paragraphs[position].partition("\n")
        footer = below if _RULE.fullmatch(head) else paragraphs[position]
        if is_footer(footer) and len(footer.split("\n")) < _MAX_SIGNATURE_LINES:
            kept = "\n\n".join(paragraphs[:position]).split("\n")
            break
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


def _without_quotations(lines: list[str]) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if _QUOTE.match(line):
            # The line "On ... wrote:" before a quotation.
            end = len(kept)
            while len(kept) - end < min(_MAX_ATTRIBUTION_LINES, len(kept)) and not kept[end - 1].strip():
                end -= 1
            first = end
            for start in range(end - 1, max(-1, end - 1 - _MAX_ATTRIBUTION_LINES), -1):
                opening = kept[start].strip()
                is_sentence = start < end - 1 and opening[-1:] in (".", "!", "?")
                if not opening or len(opening) > _MAX_ATTRIBUTION or is_sentence:
                    break
                text = " ".join(kept[start:end]).strip()
                if _NAMED.fullmatch(text) or (_ATTRIBUTION_START.match(opening) and _ATTRIBUTION.fullmatch(text)):
                    first = start
            if first < end:
                del kept[first:]
        elif _FORWARDED.fullmatch(line.strip()):
            position = _after_header(lines, position + 1)
            continue
        elif _starts_quotation(lines, position):
            break
        else:
            kept.append(line.removeprefix(">") if line.startswith(">From ") else line)
        position += 1
    return kept


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


_QUOTATION_CLASSES: Final = (
    "gmail_quote yahoo_quoted protonmail_quote moz-cite-prefix outlookmessageheader gmail_signature moz-signature "
    "signature gmail_attr zmail_extra tutanota_quote ms-outlook-mobile"
)
_QUOTATION_NAMES: Final = frozenset(_QUOTATION_CLASSES.split())
_REST_NAMES: Final = frozenset(
    ("divrplyfwdmsg", "appendonsend", "stopspelling", "mail-editor-reference-message-container")
)
"""Names of the elements from which the rest of a mail is quoted."""
_FORWARDED_RULE: Final = re.compile(
    r"-{5,} ?(?:Forwarded message|Weitergeleitete Nachricht|Message transf\u00e9r\u00e9)", re.I
)
_CLOSING: Final = re.compile(
    r"(?:(?:with )?(?:best|kind|warm|many)?\s*(?:regards|wishes|thanks)|cheers|thanks|thank you|sincerely|"
    r"yours(?: \w+)?|(?:mit )?(?:freundlichen?|viele|liebe|beste|sch\u00f6ne|herzliche) gr\u00fc(?:\u00df|ss)en?|mfg|"
    r"vg|lg|gru\u00df|"
    r"cordialement|bien \u00e0 vous|salutations|amicalement|"
    r"\u0441 \u0443\u0432\u0430\u0436\u0435\u043d\u0438\u0435\u043c|saludos)"
    r"(?:[,.!]|$)(?:\s+\S+){0,8}",
    re.IGNORECASE,
)
_MAX_CLOSING_BLOCKS: Final = 10
_MAX_NAME_WORDS: Final = 8
_MIN_LINE_WORDS: Final = 6
"""Words of a line that is no heading in a mail."""
_CONTACT: Final = re.compile(
    r"\b(?:tel|fax|phone|mobile?|cell|p\.? ?iva|vat|www)\b[.: ]|\S@[^\s@]+\.\w|\+\d{1,3}[ (\d]{6,}|https?://",
    re.IGNORECASE,
)


def _written_blocks(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yield blocks up to the quotation of another mail, without footers; a closing with a name is a notice."""
    written: list[TextBlock] = []
    for block in blocks:
        if is_quotation_start(block.text):
            break
        if not MOBILE.fullmatch(block.text) and not block.text.startswith("> "):
            written.append(block)
    while len(written) > 1 and is_footer(written[-1].text):
        del written[-1]
    for index, block in enumerate(written):  # mails have few headings
        is_sentence = len(block.text.split()) >= _MIN_LINE_WORDS or block.text.rstrip().endswith(("?", "!", "."))
        if block.kind == "heading" and is_sentence:
            written[index] = replace(block, kind="paragraph", level=0)
    # The closing, with a name and an address behind it, or a signature without one.
    first = max(1, len(written) - _MAX_CLOSING_BLOCKS)
    closings = (index for index in range(first, len(written)) if _CLOSING.fullmatch(written[index].text))
    end = next((index for index in closings if not any(is_prose(block.text) for block in written[index + 1 :])), None)
    if end is None:
        end = len(written)
        while end > 1 and not is_prose(written[end - 1].text) and _CONTACT.search(written[end - 1].text):
            end -= 1
        while 1 < end < len(written):  # names above the address, not the whole mail
            text = written[end - 1].text
            if len(text.split()) > _MAX_NAME_WORDS or text[-1:] in ".!?:;,":
                break
            end -= 1
    yield from written[:end]
    yield from (TextBlock(" ".join(block.text.split()), "notice", line=block.line) for block in written[end:])


_START: Final = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]{1,76}:)")
_MESSAGE_ID: Final = re.compile(r"<[^<>\s]{1,998}>")
_LINKS: Final = ("Message-ID", "References", "In-Reply-To")
_MAX_HEADER: Final = 2**16
"""Bytes of the header of a mail that are looked at."""


def split_mailbox(content: bytes) -> list[tuple[int, bytes]]:
    """Return the mails of a mailbox (mbox), with their numbers in it from 1; none of one mail.

    The threads are in the order of their first mails, and each by time. A thread is made of the mails that name each
    other in `References` and `In-Reply-To`.
    """
    starts = list(_START.finditer(content))
    if len(starts) < 2 or starts[0].start() > 0:
        return []
    ends = [start.start() for start in starts[1:]] + [len(content)]
    mails = [content[start.end() : end] for start, end in zip(starts, ends, strict=True)]
    headers = [BytesHeaderParser(policy=policy.compat32).parsebytes(mail[:_MAX_HEADER]) for mail in mails]
    roots: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := roots.setdefault(name, name)) != name:
            roots[name] = roots.setdefault(above, above)
            name = above
        return name

    threads: list[str] = []
    times: list[float] = []
    for number, header in enumerate(headers):
        values = [str(value) for field in _LINKS for value in header.get_all(field, [])]
        linked = [*(name for value in values for name in _MESSAGE_ID.findall(value)), f"{number}"]
        for name in linked:
            roots[root(name)] = root(linked[0])
        threads.append(linked[0])
        try:
            times.append(parsedate_to_datetime(str(header.get("Date", ""))).timestamp())
        except (ValueError, TypeError, IndexError, OverflowError, MessageError):
            times.append(0.0)  # so that the mail keeps its place
    first: dict[str, int] = {}
    for number, thread in enumerate(threads):
        first.setdefault(root(thread), number)
    order = sorted(range(len(mails)), key=lambda index: (first[root(threads[index])], times[index], index))
    return [(index + 1, mails[index]) for index in order]
