"""Mails (.eml): what their senders wrote, without quoted replies, signatures, disclaimers and footers of lists.

The subject is the title. Plain text is preferred to HTML, and attachments are named in the notes.
"""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from email import message_from_bytes, policy
from email.errors import HeaderParseError, MessageError
from email.header import Header, decode_header
from email.message import Message
from typing import Final

from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.html.charsets import decode_declared
from sumpool.documents.mail.blocks import html_blocks, written_blocks
from sumpool.documents.mail.text import decode_body, join_flowed, written_text
from sumpool.documents.plain_text.structure import text_blocks

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
    """Content of a mail.

    Attributes:
        blocks: Blocks of the text.
        attachments: Names of the parts that are left out.
        notes: What was removed or guessed.
    """

    blocks: list[TextBlock] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:  # noqa: ARG001 - the interface of formats
    """Read a mail.

    Raises:
        ValueError: If the content is no mail, or is encrypted; the message lacks the subject.
        DataError: If the mail is HTML only and lxml is not installed.
    """
    body = _Body()
    try:
        message = message_from_bytes(content, policy=policy.compat32)
        if content.strip() and not message.keys():
            raise ValueError("must be a mail, got a text without a header; name it .txt to read it as a text")
        _read_part(message, body)
    except (MessageError, LookupError, AttributeError, TypeError) as error:  # on some malformed headers
        raise ValueError(f"must be a mail, got a malformed header: {error}") from error
    if not body.blocks and len(body.attachments) == 1 and (inner := _forwarded(message)):
        _read_part(inner, body)
    blocks = tuple(replace(block, line=None) for block in body.blocks)
    return ParsedDocument(blocks, _header(message, "Subject"), (*dict.fromkeys(body.notes), *_attachment_note(body)))


def _read_part(part: Message, body: _Body) -> None:
    """Read a part of a mail and those inside it.

    Raises:
        ValueError: If it is encrypted.
    """
    kind = part.get_content_type()
    if kind in ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"):
        if part.get_param("smime-type") == "signed-data":
            raise ValueError("must hold its text in the clear, got a mail inside its S/MIME signature; save its text")
        raise ValueError("must not be encrypted, got an encrypted mail; save it decrypted")
    inner = _inner_parts(part)
    if part.get_content_disposition() == "attachment" or kind == "message/rfc822":
        body.attachments.append(_name(part))
    elif kind == "multipart/alternative":
        _read_alternative(inner, body)
    elif kind in ("multipart/signed", "multipart/report", "multipart/related"):
        _read_root(part, inner, body)
    elif inner:
        for child in inner:
            _read_part(child, body)
    elif kind in ("text/plain", "text/html"):
        _read_text(part, kind, body)
    elif not kind.startswith("multipart/"):
        body.attachments.append(_name(part))


def _read_root(part: Message, inner: list[Message], body: _Body) -> None:
    """Read the part that is the text: the one that is named, or the first with text; the others are attachments."""
    start = str(part.get_param("start", "")).strip("<> ")
    named = [child for child in inner if start and child.get("Content-ID", "").strip("<> ") == start]
    texts = [child for child in inner if child.get_content_maintype() in ("text", "multipart")]
    root = next(iter((*named, *texts, *inner)), None)
    for child in inner:
        if child is root:
            _read_part(child, body)
        elif (name := child.get_filename()) and name != "signature.asc":
            body.attachments.append(name)


def _read_alternative(parts: list[Message], body: _Body) -> None:
    """Read the plain alternative, or HTML if there is none or the plain one is a stub."""
    alternatives: list[_Body] = []
    for part in parts:
        alternative = _Body()
        _read_part(part, alternative)
        alternatives.append(alternative)
    sizes = [sum(len(block.text.split()) for block in alternative.blocks) for alternative in alternatives]
    largest = max(sizes, default=0)
    chosen = next((index for index, size in enumerate(sizes) if size and size >= _MIN_PLAIN_SHARE * largest), None)
    if chosen is not None:
        body.blocks.extend(alternatives[chosen].blocks)
        body.notes.extend(alternatives[chosen].notes)
    for alternative in alternatives:
        body.attachments.extend(alternative.attachments)


def _read_text(part: Message, kind: str, body: _Body) -> None:
    text, notes = _text(part)
    body.notes.extend(notes)
    if kind == "text/html":
        body.blocks.extend(html_blocks(text))
        return
    if text.lstrip().startswith(_PGP_MESSAGE):
        raise ValueError("must not be encrypted, got an encrypted mail; save it decrypted")
    if str(part.get_param("format", "")).lower() == "flowed":
        text = join_flowed(text, str(part.get_param("delsp", "")).lower() == "yes")
    text, notes = written_text(text)
    body.notes.extend(notes)
    body.blocks.extend(written_blocks(text_blocks(text)))


def _text(part: Message) -> tuple[str, tuple[str, ...]]:
    """Return the text of a part and what decoding guessed."""
    content = decode_body(part)
    try:
        text, notes = decode_declared(content, part.get_content_charset() or "")
    except ValueError:
        return content.decode("cp1252", "replace").replace("\0", " "), ("read as cp1252",)
    return text, notes


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


def _forwarded(message: Message) -> Message | None:
    """Return the mail that a mail without a text encloses."""
    enclosed = [part for part in message.walk() if part.get_content_type() == "message/rfc822"]
    inner = _inner_parts(enclosed[0]) if enclosed else []
    return inner[0] if inner else None


def _name(part: Message) -> str:
    """Return the name of an attachment, or its type."""
    inner = _inner_parts(part)
    subject = _header(inner[0], "Subject") if part.get_content_type() == "message/rfc822" and inner else ""
    return _decoded(part.get_filename() or "") or subject or part.get_content_type()


def _attachment_note(body: _Body) -> Iterator[str]:
    count = len(body.attachments)
    if count:
        names = ", ".join(body.attachments[:_MAX_NAMES]) + (" ..." if count > _MAX_NAMES else "")
        yield f"{count} attachment{'s' if count > 1 else ''} left out: {names}"


def _header(message: Message, name: str) -> str:
    """Return a field of the header, decoded; empty if there is none."""
    return _decoded(message.get(name, ""))


def _decoded(value: str | Header) -> str:
    """Return a value of a header with its encoded words decoded; a `Header` has bytes that are not ASCII."""
    try:
        fragments = decode_header(value[:_MAX_FIELD] if isinstance(value, str) else value)
    except (HeaderParseError, ValueError, binascii.Error):
        return " ".join(str(value).split())
    return " ".join("".join(_fragment(text, charset) for text, charset in fragments).split())


def _fragment(text: bytes | str, charset: str | None) -> str:
    if isinstance(text, str):
        return text
    try:
        return decode_declared(text, charset or "").text
    except ValueError:
        return text.decode("latin-1")
