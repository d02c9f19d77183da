"""Parts of an HTML page: its principal region, what it hides, what belongs to the site, and links that are no text.

The rules go by the names of elements, roles, and the classes and ids that pages commonly use.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sumpool.documents.html.tree import HtmlElement

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
_PERMALINK = re.compile(r"\s*+[\u00b6#\u00a7\u221e\u2191\u21a9\U0001f517]?\s*")
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
        return _of_site(element, names) and not _holds_page(element)

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


def _holds_page(element: HtmlElement) -> bool:
    """Return whether an element holds the principal region or the title of the page."""
    if element.tag in ("nav", "p", "span"):
        return False
    return any(inner.tag in ("main", "article", "h1") for inner in element.descendants())


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


def is_marker(link: HtmlElement) -> bool:
    """Return whether a link is the mark of a footnote."""
    return bool(_MARKER.fullmatch(link.text())) and (
        "[" in link.text()
        or any(not isinstance(child, str) and child.tag == "sup" for child in link.children)
        or any("note" in name for name in link.names())
        or "noteref" in link.attributes.get("epub:type", "")
    )


def is_reference(element: HtmlElement, before: str) -> bool:
    """Return whether raised text is the mark of a footnote: a link to it, or behind a sentence or a word.

    Args:
        element: Raised text.
        before: Text before it.
    """
    text = element.text()
    links = any(child.tag == "a" and "href" in child.attributes for child in element.descendants())
    return bool(_MARKER.fullmatch(text)) and (links or text.strip() in _SIGNS or bool(_MARKED.search(before)))


def is_exponent(text: str, before: str) -> bool:
    """Return whether a raised or lowered text is a number or a variable behind a number.

    Args:
        text: Raised or lowered text.
        before: Text before it.
    """
    return before[-1:].isdecimal() and bool(_EXPONENT.fullmatch(text.strip()))


def is_navigation(text: str, linked: int, size: int, links: int) -> bool:
    """Return whether a line is links to other pages, such as "Previous | Contents | Next"."""
    if not links or linked < _NAVIGATION_SHARE * size or len(text.split()) > _MAX_NAVIGATION_WORDS:
        return False
    return bool(_NAVIGATION.search(text))


def is_permalink(link: HtmlElement) -> bool:
    """Return whether a link within the page shows only a sign, or nothing."""
    return bool(_PERMALINK.fullmatch(link.text()))
