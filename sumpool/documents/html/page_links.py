"""Links that are no text of a page: navigation between pages, marks of footnotes and permanent links."""

import re

from sumpool.documents.html.tree import HtmlElement

_MARKER = re.compile(
    r"\s*[\[(]?(?:\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3})*|[a-z]|[*\u2020\u2021\u00a7\u21a9\u2191\ufe0e]+|note \d+)[\])]?\s*"
)
_MARKED = re.compile(r"(?:[.,;:!?\u2026)\]\"'\u2019\u201d\u00bb]|[^\W\d_]{4})\Z")
"""End of a sentence or a word that a note is marked behind; units and variables before an exponent are shorter."""
_SIGNS = ("*", "**", "***", "\u2020", "\u2021", "\u00a7")
_PERMALINK = re.compile(r"\s*[\u00b6#\u00a7\u221e\u2191\u21a9\U0001f517]?\s*")
_NAVIGATION = re.compile(
    r"\b(?:next|prev(?:ious)?|up|home|top|contents|index|back|zur\u00fcck|weiter|(?:nach )?oben|inhalt(?:sverzeichnis)?"
    r"|suivant|pr\u00e9c\u00e9dent|sommaire|haut|siguiente|anterior|\u043f\u0440\u0435\u0434|\u0441\u043b\u0435\u0434|"
    r"\u0432\u0432\u0435\u0440\u0445|\u043d\u0430\u0447\u0430\u043b\u043e)\b|[\u00ab\u00bb\u2190\u2192]",
    re.IGNORECASE,
)
_MAX_NAVIGATION_WORDS = 40
_LINKED_SHARE = 0.7
"""Share of linked characters from which a line with words of navigation is navigation."""


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


def is_navigation(text: str, linked: int, size: int, links: int) -> bool:
    """Return whether a line is links to other pages, such as "Previous | Contents | Next"."""
    if not links or linked < _LINKED_SHARE * size or len(text.split()) > _MAX_NAVIGATION_WORDS:
        return False
    return bool(_NAVIGATION.search(text))


def is_permalink(link: HtmlElement) -> bool:
    """Return whether a link within the page shows only a sign, or nothing."""
    return bool(_PERMALINK.fullmatch(link.text()))
