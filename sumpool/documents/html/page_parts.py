"""Parts of an HTML page: its principal region, what it hides, and what is navigation or belongs to the site."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sumpool.documents.html.page_names import (
    GROUPS,
    HEADINGS,
    INTERFACE_NAMES,
    NEVER_TEXT,
    PAGES,
    SITE_ROLES,
    SITE_WORDS,
)
from sumpool.documents.html.tree import HtmlElement

_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d])", re.I)
_CSS_BRACE = re.compile(r"[{}]")
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_NAME = re.compile(r"[.#][\w-]+")
_MAX_CSS = 100_000
"""Characters of a style sheet that are read."""

_NAME_PARTS = re.compile(r"[^a-z]+")
_MAX_SHARE = 0.5
"""Share of a page's text above which a part is never taken for the site's."""
_LINK_SHARE = 0.4
"""Share of linked text from which a header or an aside is taken for the site's."""


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
        sheets = [element.text()[:_MAX_CSS] for element in page.descendants() if element.tag == "style"]
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
