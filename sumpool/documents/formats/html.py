"""HTML pages: the text of the document without the site's navigation, forms, notices and hidden text.

Character sets are taken from the byte-order mark, from `meta` or the XML declaration, or guessed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.html.articles import article_blocks, declares_article
from sumpool.documents.html.blocks import HtmlBlocks
from sumpool.documents.html.charsets import decode_page
from sumpool.documents.html.parts import PageParts, principal_region
from sumpool.documents.html.tree import HtmlElement, parse_markup
from sumpool.documents.plain_text.structure import text_blocks

_FILE_NAME: Final = re.compile(r"\S+\.(?:html?|pdf|docx?|txt)", re.IGNORECASE)
_TEXT_SHARE: Final = 0.7
"""Share of a page from which a preformatted text is its text and not code."""
_MIN_TEXT: Final = 1_000
"""Characters of such a text."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:  # noqa: ARG001 - the interface of formats
    """Read an HTML page.

    Raises:
        ValueError: If the content is not text, or its markup could exhaust a parser; the message lacks the subject.
        DataError: If lxml is not installed, or trafilatura is not and the page is an article.
    """
    decoded = decode_page(content)
    page = parse_markup(decoded.text)
    is_article = declares_article(page)
    blocks = _blocks(page, site=not is_article)
    title = page_title(page, blocks)
    if is_article:
        blocks = article_blocks(decoded.text, blocks, title) or _blocks(page, site=True)
    return ParsedDocument(blocks, title, decoded.notes)


def _blocks(page: HtmlElement, site: bool) -> tuple[TextBlock, ...]:
    """Return the blocks of the principal region of a page; `site` is whether parts of a site are dropped."""
    return tuple(_with_read_code(HtmlBlocks(PageParts.of(page, site)).read(principal_region(page))))


def page_title(page: HtmlElement, blocks: tuple[TextBlock, ...]) -> str:
    """Return the first principal heading if the title of the page contains it, otherwise the title of the page.

    A heading that is the name of the site, as its metadata state it, is passed over, and a title that is a file name.
    """
    element = next((element for element in page.descendants() if element.tag == "title"), None)
    title = " ".join(element.text().split()) if element else ""
    title = "" if _FILE_NAME.fullmatch(title) else title
    site = next(
        (element for element in page.descendants() if element.attributes.get("property") == "og:site_name"), None
    )
    name = " ".join(site.attributes.get("content", "").split()).casefold() if site else ""
    headings = (block.text for block in blocks if block.kind == "heading")
    heading = next((text for text in headings if text.casefold() != name), "")
    return heading if heading and (not title or heading in title) else title


def _with_read_code(blocks: tuple[TextBlock, ...]) -> Iterator[TextBlock]:
    """Yield blocks, with those of the text where a page is one preformatted text, as RFCs and READMEs are."""
    size = sum(len(block.text) for block in blocks)
    for block in blocks:
        if block.kind == "code" and len(block.text) > max(_MIN_TEXT, _TEXT_SHARE * size):
            for inner in text_blocks(block.text):
                line = None if block.line is None or inner.line is None else block.line + inner.line - 1
                yield replace(inner, line=line)
        else:
            yield block
