"""HTML pages: the text of the document without the site's navigation, forms, notices and hidden text.

Character sets are taken from the byte-order mark, from `meta` or the XML declaration, or guessed.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sumpool.documents.decoding import decode_page
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, is_prose
from sumpool.documents.formats.text import text_blocks
from sumpool.documents.markup import HtmlBlocks, HtmlElement, PageParts, parse_markup, principal_region
from sumpool.text.language import split_words

_FILE_NAME: Final = re.compile(r"\S+\.(?:html?|pdf|docx?|txt)", re.IGNORECASE)
_TEXT_SHARE: Final = 0.7
"""Share of a page from which a preformatted text is its text and not code."""
_MIN_TEXT: Final = 1_000
"""Characters of such a text."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:  # noqa: ARG001 - the interface of formats
    """Read an HTML page.

    Raises:
        ValueError: If the content is not text, or its markup could exhaust a parser; the message lacks the subject.
    """
    text, notes = decode_page(content)
    page = parse_markup(text)
    is_article = declares_article(page)
    blocks = _blocks(page, site=not is_article)
    title = page_title(page, blocks)
    if is_article:
        blocks = article_blocks(text, blocks, title) or _blocks(page, site=True)
    return ParsedDocument(blocks, title, notes)


def _blocks(page: HtmlElement, site: bool) -> tuple[TextBlock, ...]:
    """Return the blocks of the principal region of a page; `site` is whether parts of a site are dropped."""
    blocks = HtmlBlocks(PageParts.of(page, site)).read(principal_region(page))
    size = sum(len(block.text) for block in blocks)
    read: list[TextBlock] = []
    for block in blocks:
        if block.kind == "code" and len(block.text) > max(_MIN_TEXT, _TEXT_SHARE * size):
            # A page that is one preformatted text, as RFCs and READMEs are.
            for inner in text_blocks(block.text):
                line = None if block.line is None or inner.line is None else block.line + inner.line - 1
                read.append(replace(inner, line=line))
        else:
            read.append(block)
    return tuple(read)


def page_title(page: HtmlElement, blocks: tuple[TextBlock, ...]) -> str:
    """Return the first principal heading if the title of the page contains it, otherwise the title of the page.

    A heading that is the name of the site, as its metadata state it, is passed over, and a title that is a file name.
    """
    element = page.find("title")
    title = " ".join(element.text().split()) if element else ""
    title = "" if _FILE_NAME.fullmatch(title) else title
    site = next(
        (element for element in page.descendants() if element.attributes.get("property") == "og:site_name"), None
    )
    name = " ".join(site.attributes.get("content", "").split()).casefold() if site else ""
    headings = (block.text for block in blocks if block.kind == "heading")
    heading = next((text for text in headings if text.casefold() != name), "")
    return heading if heading and (not title or heading in title) else title


_SCHEMA: Final = re.compile(r"(?:\w*Article|\w*Posting|Report)", re.ASCII)
_JSON_TYPE: Final = re.compile(r"\"@type\"\s*:\s*\[?\s*\"([A-Za-z]+)\"")
_GENERATOR: Final = re.compile(r"wordpress|ghost|blogger|drupal|joomla|typo3|hubspot|squarespace|medium", re.IGNORECASE)
_MANUAL: Final = re.compile(
    r"docutils|sphinx|mkdocs|docusaurus|gitbook|docbook|asciidoc|doxygen|javadoc|pandoc|rdoc|texinfo|latex",
    re.IGNORECASE,
)
"""Programs that make manuals, whose themes may call every page an article."""
_MAX_TAGS: Final = 10_000
"""Tags of a page that is given to trafilatura, which takes the square of them; one news page in a thousand has more."""
_MIN_SHARE: Final = 0.5
"""Share of the paragraphs of the page's `article` that an extraction has; one with less has lost a part of it."""
_MIN_SHARED: Final = 0.5
"""Share of the phrases of a block that are in the article."""
_PHRASE: Final = 3
"""Words of a phrase."""


def declares_article(page: HtmlElement) -> bool:
    """Return whether a page says that it is an article, in its metadata or by the program that made it."""
    declares = False
    for element in page.descendants():
        attributes = element.attributes
        if _MANUAL.search(_generator(element)):
            return False
        if "itemtype" in attributes and _SCHEMA.fullmatch(attributes["itemtype"].rpartition("/")[2]):
            declares = True
        elif element.tag == "script" and attributes.get("type", "").lower() == "application/ld+json":
            declares = declares or any(_SCHEMA.fullmatch(name) for name in _JSON_TYPE.findall(element.text()))
        elif element.tag == "meta":
            name, content = attributes.get("property", "").lower(), attributes.get("content", "").lower()
            is_article = name.startswith("article:") or (name == "og:type" and content.startswith(("article", "blog")))
            declares = declares or is_article or bool(_GENERATOR.match(_generator(element)))
    return declares


def _generator(element: HtmlElement) -> str:
    is_generator = element.tag == "meta" and element.attributes.get("name", "").lower() == "generator"
    return element.attributes.get("content", "") if is_generator else ""


def article_blocks(markup: str, blocks: Sequence[TextBlock], title: str) -> tuple[TextBlock, ...]:
    """Return the blocks of the article of a page; none if there is no article with prose.

    Sentences between the principal heading and the first paragraph stay: trafilatura loses standfirsts.

    Args:
        markup: Text of the page.
        blocks: Blocks of the page.
        title: Title of the page, whose heading is kept.

    """
    words = split_words(_extracted(markup))
    phrases, text = set(_phrases(words)), f" {' '.join(words)} "
    inside = []
    for block in blocks:
        own = _phrases(block_words := split_words(block.text))
        if own:
            inside.append(sum(phrase in phrases for phrase in own) >= _MIN_SHARED * len(own))
        else:
            inside.append(bool(block_words) and f" {' '.join(block_words)} " in text)
    prose = [number for number, block in enumerate(blocks) if inside[number] and block.kind == "paragraph"]
    if not prose:
        return ()
    principal = [number for number in range(prose[0]) if blocks[number].kind == "heading" and blocks[number].level == 1]
    standfirst = range(principal[-1] if principal else prose[0], prose[0])
    return tuple(
        block
        for number, block in enumerate(blocks)
        if inside[number]
        or (block.kind == "heading" and block.text == title)
        or (block.kind in ("caption", "code", "table_row") and prose[0] < number < prose[-1])
        or (number in standfirst and block.kind == "paragraph" and is_prose(block.text))
    )


def _extracted(markup: str) -> str:
    """Return the text of the article as trafilatura extracts it, or all its paragraphs where that is less than half."""
    from trafilatura import baseline, extract  # as most pages are no articles

    if markup.count("<") > _MAX_TAGS:
        return ""
    for library in ("trafilatura", "courlan", "htmldate", "justext"):
        logging.getLogger(library).addHandler(logging.NullHandler())  # or its warnings go to stderr
    try:
        text = extract(markup, include_comments=False) or ""
        _, paragraphs, _ = baseline(markup)
    except Exception:  # whatever a page breaks in it, the blocks are read without it
        return ""
    return text if len(text) >= _MIN_SHARE * len(paragraphs) else paragraphs


def _phrases(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + _PHRASE]) for start in range(len(words) - _PHRASE + 1)]
