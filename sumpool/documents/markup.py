"""HTML markup: the tree of a page, the parts of it that are its text, and their blocks.

HTML pages, chapters of EPUB books, HTML parts of mails and, as HTML, word-processor documents share this walk. What is
dropped is known by the names of elements, roles, and the classes and ids that pages commonly use. lxml builds the tree
because libxml2 is linear in the nesting of elements, keeps line numbers and reads nothing but the given bytes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from lxml import etree

from sumpool.documents.document import TextBlock, TextBlockKind, join_cells

_MAX_DEPTH: Final = 100
"""Nesting of the tree; deeper elements become children of the deepest level, in their order."""
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
"""Elements without content, which have no end tag."""
_XHTML = re.compile(r"\s*<\?xml|[^>]{0,1000}<html[^>]{0,500}www\.w3\.org/1999/xhtml", re.IGNORECASE | re.DOTALL)
_SELF_CLOSED = re.compile(r"<([a-zA-Z][\w:.-]*)(\s[^<>]*)?/>")


@dataclass(slots=True)
class HtmlElement:
    """Element of a page.

    Attributes:
        tag: Name in lower case, without a namespace.
        attributes: Values by name in lower case.
        children: Elements and texts, in their order.
        line: Line of the source, from 1; None if unknown.
        size: Characters of the text inside, without the space around each text.
        linked: Those of them that are inside links.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: "list[HtmlElement | str]" = field(default_factory=list)
    line: int | None = None
    size: int = 0
    linked: int = 0

    def append(self, child: "HtmlElement | str") -> None:
        """Append a child; the size of a text is added, that of an element when it is complete."""
        self.children.append(child)
        if isinstance(child, str):
            self.size += len(child.strip())

    def descendants(self) -> "Iterator[HtmlElement]":
        """Yield all elements inside, in their order."""
        stack = [self]
        while stack:
            element = stack.pop()
            if element is not self:
                yield element
            stack.extend(child for child in reversed(element.children) if not isinstance(child, str))

    def find(self, tag: str) -> "HtmlElement | None":
        """Return the first element of a name inside; None if there is none."""
        return next((element for element in self.descendants() if element.tag == tag), None)

    def names(self) -> list[str]:
        """Return the words of `class` and `id` in lower case."""
        return f"{self.attributes.get('class', '')} {self.attributes.get('id', '')}".lower().split()

    def text(self) -> str:
        """Return the text inside as it is."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


def parse_markup(markup: str) -> HtmlElement:
    """Build the tree of HTML or XHTML.

    Raises:
        ValueError: If elements are nested thousands of levels deep; the message lacks the subject.
    """
    if _XHTML.match(markup):
        markup = _SELF_CLOSED.sub(
            lambda tag: tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2] or ''}></{tag[1]}>", markup
        )
    top = HtmlElement("#document")
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True, recover=True
    )
    try:
        root = etree.fromstring(markup.replace("\0", " ").encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return top  # nothing that is an element
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise ValueError("must nest its elements at most 2,048 levels deep, got more; convert it to text")
    events: Iterable[tuple[str, etree._Element]] = () if root is None else etree.iterwalk(root, events=("start", "end"))
    stack = [top]
    for event, node in events:
        if event == "start":
            attributes = {str(name).lower(): str(value) for name, value in node.attrib.items()}
            tag = node.tag.rpartition("}")[2].rpartition(":")[2].lower()
            element = HtmlElement(tag, attributes, [], node.sourceline)
            if node.text:
                element.append(node.text)
            stack[min(len(stack), _MAX_DEPTH) - 1].append(element)
            stack.append(element)
        else:
            element = stack.pop()
            parent = stack[min(len(stack), _MAX_DEPTH) - 1]
            parent.size += element.size
            parent.linked += element.size if element.tag == "a" and "href" in element.attributes else element.linked
            if node.tail:
                parent.append(node.tail)
    return top


_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d])", re.I)
_CSS_BRACE = re.compile(r"[{}]")
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_NAME = re.compile(r"[.#][\w-]+")

_NAME_PARTS = re.compile(r"[^a-z]+")
_MAX_SHARE = 0.5
"""Share of a page's text above which a part is never taken for the site's."""
_LINK_SHARE = 0.4
"""Share of linked text from which a header or an aside is taken for the site's."""
_MARKER = re.compile(
    r"\s*[\[(]?(?:\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3})*|[a-z]|[*\u2020\u2021\u00a7\u21a9\u2191\ufe0e]+|note \d+)[\])]?\s*"
)
_MARKED = re.compile(r"(?:[.,;:!?\u2026)\]\"'\u2019\u201d\u00bb]|[^\W\d_]{4})\Z")
"""End of a sentence or a word that a note is marked behind; units and variables before an exponent are shorter."""
_EXPONENT = re.compile(r"[+\u2212-]?(?:\d{1,4}|[kn])[+\u2212-]?")
_SIGNS = ("*", "**", "***", "\u2020", "\u2021", "\u00a7")
_PERMALINK: Final = re.compile(r"\s*+[\u00b6#\u00a7\u221e\u2191\u21a9\U0001f517]?\s*")
_NAVIGATION = re.compile(
    r"\b(?:next|prev(?:ious)?|up|home|top|contents|index|back|zur\u00fcck|weiter|(?:nach )?oben|inhalt(?:sverzeichnis)?"
    r"|suivant|pr\u00e9c\u00e9dent|sommaire|haut|siguiente|anterior|\u043f\u0440\u0435\u0434|\u0441\u043b\u0435\u0434|"
    r"\u0432\u0432\u0435\u0440\u0445|\u043d\u0430\u0447\u0430\u043b\u043e)\b|[\u00ab\u00bb\u2190\u2192]",
    re.IGNORECASE,
)
_MAX_NAVIGATION_WORDS = 40
_NAVIGATION_SHARE = 0.7
"""Share of linked characters from which a line with words of navigation is navigation."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_TEXT: Final = _names(
    "script style template noscript iframe frame frameset object embed applet svg canvas audio video map "
    "head link meta button input select textarea option optgroup datalist progress meter dialog rt rp "
    "annotation annotation-xml"
)
"""Elements without text of the document."""
HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")
"""Headings."""
BLOCKS: Final = _names(
    "#document html body main article section div p center blockquote figure header footer hgroup "
    "fieldset legend details summary dir aside nav form table thead tbody tfoot tr td th hr ul ol menu dl "
    "address"
)
"""Elements that end the paragraph before them and are followed by another."""
LISTS: Final = _names("ul ol menu dir dl")
"""Lists."""
GROUPS: Final = _names("h1 div section ul ol dl table nav aside footer header form center menu details")
"""Elements that may be a part of a site."""
PAGES: Final = _names("#document html body main article")
"""Elements that are a page or its text."""
SITE_ROLES: Final = _names(
    "navigation banner contentinfo search complementary menu menubar toolbar dialog alertdialog tooltip "
    "doc-toc doc-pagelist doc-index"
)
"""Roles of the parts of a site."""
SITE_WORDS: Final = _names(
    "nav navbar navbars navigation navigator navheader navfooter navpanel navi sitenav subnav sidenav "
    "breadcrumb breadcrumbs sidebar sphinxsidebar sphinxsidebarwrapper sphinxfooter menu topbar masthead "
    "footer colophon cookie cookies consent gdpr advert adverts advertisement ads ad adsense sponsor "
    "sponsored promo share sharing social newsletter subscribe subscription pagination pager paginator "
    "skip skiplink toolbar popup modal login signup related toc tableofcontents lot lof printfooter "
    "catlinks noprint metadata navbox editsection prevnext rellinks comments respond searchbox docnav tagline banner"
)
"""Words of `class` and `id` that name parts of a site and not of its text."""
INTERFACE_NAMES: Final = _names(
    "headerlink anchorlink permalink mw-editsection mw-jump-link sr-only visually-hidden "
    "screen-reader-text linenos lineno linenodiv pagenum copybtn u-hidden visuallyhidden"
)
"""Names that belong to the interface wherever they occur."""
CAPTION_NAMES: Final = _names("caption figure-caption admonition-title wp-caption-text")
"""Classes of captions."""
NOTICE_NAMES: Final = _names(
    "legalnotice copyright license licence copyrightinfo trademark "
    "byline by-line article-byline dateline entry-meta post-meta article-meta"
)
"""Classes of licences, copyright notices, and authors and dates of articles."""


@dataclass(frozen=True)
class PageParts:
    """Rules about the elements of a page.

    Attributes:
        size: Characters of the page's text.
        hidden_names: Classes (".x") and ids ("#x") that its style sheets hide.
        site: Whether parts of a site are dropped; otherwise only hidden text and `nav`, as in the chapters of a book.
    """

    size: int
    hidden_names: frozenset[str] = frozenset()
    site: bool = True

    @classmethod
    def of(cls, page: HtmlElement, site: bool = True) -> "PageParts":
        """Return the rules for a page."""
        sheets = [element.text() for element in page.descendants() if element.tag == "style"]
        unread = sum(element.size for element in page.descendants() if element.tag in ("script", "style"))
        names = frozenset(name for sheet in sheets for name in _hidden_names(sheet))
        return cls(max(page.size - unread, 1), names, site)

    def drops(self, element: HtmlElement) -> bool:
        """Return whether an element is hidden, has no text of the document, or belongs to the site."""
        if element.tag in NEVER_TEXT or self._hides(element):
            return True
        names = element.names()
        if any(name in INTERFACE_NAMES for name in names):
            return True
        if element.tag not in GROUPS or element.size > _MAX_SHARE * self.size:
            return False
        if not self.site:
            return element.tag == "nav"
        return _of_site(element, names) and (
            element.tag == "nav" or not any(inner.tag in ("main", "article", "h1") for inner in element.descendants())
        )

    def _hides(self, element: HtmlElement) -> bool:
        attributes = element.attributes
        if element.tag in PAGES or not attributes:
            return False
        if "hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true":
            return True
        if "style" in attributes and _HIDING_STYLE.search(attributes["style"]):
            return True
        if not self.hidden_names or element.size > _MAX_SHARE * self.size:
            return False
        classes = attributes.get("class", "").split()
        return f"#{attributes.get('id')}" in self.hidden_names or any(
            f".{name}" in self.hidden_names for name in classes
        )


def principal_region(page: HtmlElement) -> HtmlElement:
    """Return the element with the text of the document: `main`, the only article, or the whole page."""
    elements = list(page.descendants())
    mains = [element for element in elements if element.tag == "main" or element.attributes.get("role") == "main"]
    articles = [element for element in elements if element.tag == "article"]
    for regions in (mains, articles):
        if len(regions) == 1 and regions[0].size >= min(400, _MAX_SHARE * page.size):
            return regions[0]
    return page


def _of_site(element: HtmlElement, names: list[str]) -> bool:
    """Return whether an element is navigation, a side bar, a form or another part of the site."""
    attributes, tag = element.attributes, element.tag
    role = attributes.get("role", "").lower()
    if tag == "nav" or role in SITE_ROLES or tag == "form":
        return True
    if role.startswith("doc-") or any("note" in name for name in names):
        return False
    linked = element.linked > _LINK_SHARE * element.size
    if tag == "footer" or _has_site_word(attributes.get("class", "")):
        return linked or names != ["sidebar"]  # DocBook calls boxes so
    if _has_site_word(attributes.get("id", "")):  # or a section about menus
        return linked or not any(inner.tag in HEADINGS for inner in element.descendants())
    return linked and (tag in ("header", "aside") or "header" in names)


def _has_site_word(value: str) -> bool:
    return any(part in SITE_WORDS for part in _NAME_PARTS.split(value.lower()))


def _hidden_names(sheet: str) -> Iterator[str]:
    """Yield the classes and ids that a style sheet hides on every medium."""
    sheet = _CSS_COMMENT.sub("", sheet)
    selectors, start, depth = "", 0, 0
    for brace in _CSS_BRACE.finditer(sheet):
        part, start = sheet[start : brace.start()], brace.end()
        if brace[0] == "{":
            selectors = part.rpartition(";")[2].strip() if depth == 0 else selectors
            depth += 1
            continue
        if depth == 1 and not selectors.startswith("@") and _HIDING_STYLE.search(part):
            yield from (name.strip() for name in selectors.split(",") if _CSS_NAME.fullmatch(name.strip()))
        depth = max(0, depth - 1)


def _is_marker(link: HtmlElement) -> bool:
    """Return whether a link is the mark of a footnote."""
    return bool(_MARKER.fullmatch(link.text())) and (
        "[" in link.text()
        or any(not isinstance(child, str) and child.tag == "sup" for child in link.children)
        or any("note" in name for name in link.names())
        or "noteref" in link.attributes.get("epub:type", "")
    )


def _is_navigation(text: str, linked: int, size: int, links: int) -> bool:
    """Return whether a line is links to other pages, such as "Previous | Contents | Next"."""
    if not links or linked < _NAVIGATION_SHARE * size or len(text.split()) > _MAX_NAVIGATION_WORDS:
        return False
    return bool(_NAVIGATION.search(text))


_KINDS: Final[dict[str, TextBlockKind]] = {"caption": "caption", "figcaption": "caption", "address": "notice"}
_MIN_CELL_WORDS = 12
"""Words from which the only cell of a row is a paragraph."""


@dataclass(frozen=True)
class _Context:
    kind: TextBlockKind = "paragraph"
    level: int = 0
    depth: int = 0
    """Depth of the list."""


class HtmlBlocks:
    """Walk through a tree that collects its blocks.

    Attributes:
        parts: Rules about what is dropped.
        blocks: Blocks so far.
    """

    def __init__(self, parts: PageParts) -> None:
        """Begin without blocks."""
        self.parts = parts
        self.blocks: list[TextBlock] = []
        self._texts: list[str] = []
        self._linked = 0
        self._links = 0
        self._link_end = -1
        self._line: int | None = None

    def read(self, element: HtmlElement) -> tuple[TextBlock, ...]:
        """Return the blocks of an element."""
        self._block(element, _Context())
        return tuple(self.blocks)

    def _block(self, element: HtmlElement, context: _Context) -> None:
        self._children(element, context)
        self._flush(context)

    def _children(self, element: HtmlElement, context: _Context) -> None:
        for child in element.children:
            if isinstance(child, str):
                if self._line is None and child.strip():
                    self._line = element.line
                self._texts.append(child.replace("\n", " "))
            elif not self.parts.drops(child):
                self._element(child, context)

    def _element(self, element: HtmlElement, context: _Context) -> None:
        tag = element.tag
        if tag == "br":  # a space; two of them end the paragraph
            last = next((part for part in reversed(self._texts) if part.strip(" \t")), "")
            if last == "\n":
                self._flush(context)
            else:
                self._texts.append("\n")
        elif tag in ("pre", "listing", "xmp"):
            self._flush(context)
            lines = [line.rstrip() for line in _raw_text(element, self.parts).expandtabs().split("\n")]
            if text := "\n".join(lines).lstrip("\n").rstrip():
                self.blocks.append(TextBlock(text, "code", line=element.line))
        elif tag == "table":
            self._flush(context)
            self._rows(element, context)
        elif tag in HEADINGS or tag in BLOCKS or tag in ("li", "dt", "dd", *_KINDS):
            self._flush(context)
            self._block(element, _inner_context(element, context))
        else:
            self._inline(element, context)

    def _inline(self, element: HtmlElement, context: _Context) -> None:
        target = element.attributes.get("href", "") if element.tag == "a" else ""
        if target.startswith("#") and (_is_marker(element) or _PERMALINK.fullmatch(element.text())):
            return
        before = "".join(self._texts[-2:])[-4:] if element.tag in ("sup", "sub") else ""
        if element.tag == "sup" and _MARKER.fullmatch(element.text()):
            # The mark of a footnote: a link to it, or behind a sentence or a word.
            links = any(child.tag == "a" and "href" in child.attributes for child in element.descendants())
            if links or element.text().strip() in _SIGNS or _MARKED.search(before):
                return
        if element.tag == "sub" and self._texts[-3:-2] == ["^"] and self._texts[-1].strip() in ("/", "\u2044"):
            self._texts[-3] = " "  # a fraction behind a number
        elif before[-1:].isdecimal() and _EXPONENT.fullmatch(element.text().strip()):
            # The sign between a number and its exponent or base, which would be read as its last digits.
            self._texts.append("^" if element.tag == "sup" else "_")
        if element.tag == "q":
            self._texts.append("\u201c")
        if target and self._link_end == len(self._texts):
            self._texts.append(" ")  # links without a space between them are buttons of a menu
        start = len(self._texts)
        self._children(element, context)
        if target:
            self._link_end = len(self._texts)
            self._linked += sum(len(part.strip()) for part in self._texts[start:])
            self._links += 1
        if element.tag == "q":
            self._texts.append("\u201d")

    def _rows(self, table: HtmlElement, context: _Context) -> None:
        """Read the rows and captions of a table; those of tables inside it are in its cells."""
        for child in table.children:
            if isinstance(child, str):
                continue
            if child.tag in ("thead", "tbody", "tfoot", "form"):
                self._rows(child, context)
            elif child.tag == "caption":
                self._element(child, context)
            elif child.tag == "tr" and not self.parts.drops(child):
                self.blocks.extend(self._row(child))

    def _row(self, row: HtmlElement) -> list[TextBlock]:
        """Return one block for a row of short cells, or the blocks of the cells of a table that is a layout."""
        row_cells = [
            HtmlBlocks(self.parts).read(cell)
            for cell in row.children
            if not isinstance(cell, str) and not self.parts.drops(cell)
        ]
        cells = [blocks for blocks in row_cells if blocks]
        simple = all(len(blocks) == 1 and blocks[0].kind == "paragraph" for blocks in cells)
        if simple and (len(cells) > 1 or (cells and len(cells[0][0].text.split()) < _MIN_CELL_WORDS)):
            text = join_cells(blocks[0].text if blocks else "" for blocks in row_cells)
            if _is_navigation(text, row.linked, row.size, len(cells)):
                return []
            return [TextBlock(text, "table_row", line=cells[0][0].line)]
        return [
            replace(block, kind="table_row")  # a short text alone in its cell
            if len(blocks) == 1 and block.kind == "paragraph" and len(block.text.split()) < _MIN_CELL_WORDS
            else block
            for blocks in cells
            for block in blocks
        ]

    def _flush(self, context: _Context) -> None:
        """Append the text so far as a block."""
        text = " ".join("".join(self._texts).split())
        navigation = context.kind != "heading" and _is_navigation(text, self._linked, len(text), self._links)
        if text and not (self.parts.site and navigation):
            self.blocks.append(TextBlock(text, context.kind, context.level, line=self._line))
        self._texts = []
        self._linked = self._links = 0
        self._link_end = -1
        self._line = None


def _inner_context(element: HtmlElement, context: _Context) -> _Context:
    """Return the kind and level of the text directly in an element."""
    tag = element.tag
    if tag in HEADINGS:
        return replace(context, kind="heading", level=int(tag[1]))
    if tag in LISTS:
        return replace(context, depth=context.depth + 1)
    if tag in ("li", "dt"):
        return replace(context, kind="list_item", level=max(1, context.depth))
    if tag == "dd":
        return replace(context, kind="paragraph", level=0)
    if tag in _KINDS:
        return replace(context, kind=_KINDS[tag], level=0)
    names = element.names()
    if any(name in NOTICE_NAMES for name in names):
        return replace(context, kind="notice", level=0)
    if any(name in CAPTION_NAMES for name in names) or (tag == "p" and "title" in names):
        return replace(context, kind="caption", level=0)
    return context


def _raw_text(element: HtmlElement, parts: PageParts) -> str:
    """Return the text of code with its lines."""
    texts = []
    for child in element.children:
        if isinstance(child, str):
            texts.append(child)
        elif child.tag == "br":
            texts.append("\n")
        elif not parts.drops(child):
            texts.append(_raw_text(child, parts))
    return "".join(texts)
