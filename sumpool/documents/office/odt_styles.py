"""Styles of OpenDocument texts: which paragraphs are titles, captions or code, and which text is hidden."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sumpool.documents.office.archive import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element

_CLASSES: Final = {
    "title": "doc-title", "caption": "caption", "illustration": "caption", "figure": "caption", "drawing": "caption",
    "preformatted_20_text": "code", "source_20_code": "code", "header": "sr-only", "footer": "sr-only",
}  # fmt: skip
"""Class of the HTML element of a paragraph with a style, or one that it is made from."""
_MAX_PARENTS: Final = 20


@dataclass(frozen=True)
class OdtStyles:
    """Styles by name.

    Attributes:
        parents: Name of the style that a style is made from.
        hidden: Names of the styles whose text is not displayed.
    """

    parents: dict[str, str]
    hidden: frozenset[str]

    @classmethod
    def read(cls, roots: "Iterable[_Element]") -> "OdtStyles":
        """Read the styles in the XML parts of a document."""
        parents: dict[str, str] = {}
        hidden: set[str] = set()
        for root in roots:
            for element in root.iter():
                if local_name(element.tag) != "style":
                    continue
                values = {local_name(key): str(value) for key, value in element.attrib.items()}
                name = values.get("name", "")
                parents[name] = values.get("parent-style-name", "")
                if any(
                    local_name(key) == "display" and value == "none"
                    for child in element
                    for key, value in child.attrib.items()
                ):
                    hidden.add(name)
        return cls(parents, frozenset(hidden))

    def of(self, name: str) -> dict[str, str]:
        """Return the attributes of an HTML element with a style."""
        for _ in range(_MAX_PARENTS):
            if name in self.hidden:
                return {"hidden": ""}
            if name.lower() in _CLASSES:
                return {"class": _CLASSES[name.lower()]}
            name = self.parents.get(name, "")
        return {}
