"""Blocks of mails: the written part of HTML mails, and closings as notices."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sumpool.documents.document import TextBlock, is_prose
from sumpool.documents.html.blocks import HtmlBlocks
from sumpool.documents.html.parts import PageParts
from sumpool.documents.html.tree import HtmlElement, parse_markup
from sumpool.documents.mail.text import MOBILE, is_footer, is_quotation_start

_QUOTATION_CLASSES: Final = (
    "gmail_quote yahoo_quoted protonmail_quote moz-cite-prefix outlookmessageheader gmail_signature moz-signature "
    "signature gmail_attr zmail_extra tutanota_quote ms-outlook-mobile"
)
_QUOTATION_NAMES: Final = frozenset(_QUOTATION_CLASSES.split())
_REST_NAMES: Final = frozenset(
    ("divrplyfwdmsg", "appendonsend", "stopspelling", "mail-editor-reference-message-container")
)
"""Names of the elements from which the rest of a mail is quoted."""
_FORWARDED: Final = re.compile(
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


def html_blocks(markup: str) -> list[TextBlock]:
    """Return the blocks that the sender of an HTML mail wrote.

    Raises:
        ValueError: If the markup could exhaust a parser; the message lacks the subject.
        DataError: If lxml is not installed.
    """
    tree = parse_markup(markup, "HTML mail")
    _hide_quotations(tree)
    blocks = HtmlBlocks(PageParts(max(tree.size, 1), site=False)).read(tree)
    return list(written_blocks(blocks)) or list(HtmlBlocks(PageParts(max(tree.size, 1), site=False)).read(tree))


def written_blocks(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yield blocks up to the quotation of another mail, without footers; a closing with a name is a notice."""
    written: list[TextBlock] = []
    for block in blocks:
        if is_quotation_start(block.text):
            break
        if not MOBILE.fullmatch(block.text) and not block.text.startswith("> "):
            written.append(block)
    while len(written) > 1 and is_footer(written[-1].text):
        del written[-1]
    written = [_as_prose(block) for block in written]
    last = range(max(1, len(written) - _MAX_CLOSING_BLOCKS), len(written))
    end = next((index for index in last if _closes(written[index:])), len(written) - _contact_blocks(written))
    yield from written[:end]
    yield from (TextBlock(" ".join(block.text.split()), "notice", line=block.line) for block in written[end:])


def _closes(blocks: list[TextBlock]) -> bool:
    """Return whether blocks are a closing, a name and an address."""
    return not any(is_prose(block.text) for block in blocks[1:]) and bool(_CLOSING.fullmatch(blocks[0].text))


def _contact_blocks(blocks: list[TextBlock]) -> int:
    """Count the last blocks that are a signature without a closing: names and an address, not the whole mail."""
    start = len(blocks)
    while start > 1 and not is_prose(blocks[start - 1].text) and _CONTACT.search(blocks[start - 1].text):
        start -= 1
    while 1 < start < len(blocks) and _is_name(blocks[start - 1].text):
        start -= 1
    return len(blocks) - start


def _is_name(text: str) -> bool:
    return len(text.split()) <= _MAX_NAME_WORDS and text[-1:] not in ".!?:;,"


def _as_prose(block: TextBlock) -> TextBlock:
    """Return a line that is a sentence as a paragraph, as mails have few headings."""
    is_sentence = len(block.text.split()) >= _MIN_LINE_WORDS or block.text.rstrip().endswith(("?", "!", "."))
    return replace(block, kind="paragraph", level=0) if block.kind == "heading" and is_sentence else block


def _hide_quotations(tree: HtmlElement) -> None:
    """Hide quoted mails and signatures, by the elements in which mail programs put them."""
    for parent in (tree, *tree.descendants()):
        rest = False
        for child in parent.children:
            if isinstance(child, str):
                continue
            rest = rest or not _REST_NAMES.isdisjoint(child.names())
            if rest or (_is_quotation(child) and not _FORWARDED.search(child.text()[:500])):
                child.attributes["hidden"] = ""


def _is_quotation(element: HtmlElement) -> bool:
    if element.tag == "blockquote" and element.attributes.get("type", "").lower() == "cite":
        return True
    return not _QUOTATION_NAMES.isdisjoint(element.names())
