"""Styles of Word documents: which paragraphs are headings, list items, captions or code, and which text is hidden."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sumpool.documents.office.archive import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_LEFT_OUT: Final = re.compile(
    r"toc (?:\d|heading)|table of figures|index \d|index heading|header|footer", re.IGNORECASE
)
_CAPTION: Final = re.compile(r"caption|figure|table|illustration|drawing|image caption|table caption", re.IGNORECASE)
_CODE: Final = re.compile(r"html preformatted|preformatted text|source code|plain code|code|macro text", re.IGNORECASE)
_LIST: Final = re.compile(r"list (?:bullet|number)(?: \d)?", re.IGNORECASE)
_MAX_PARENTS: Final = 20
_MAX_LEVEL: Final = 9
_OFF: Final = ("0", "false", "off", "none")


@dataclass(frozen=True)
class DocxStyle:
    """Style of paragraphs or runs.

    Attributes:
        name: Name, in English for the styles that Word comes with.
        parent: Identifier of the style that it is made from; empty if there is none.
        outline: Level of the heading, from 0; None for text.
        list_level: Level of the list, from 0; None outside of lists.
        hidden: Whether its text is not displayed.
    """

    name: str
    parent: str = ""
    outline: int | None = None
    list_level: int | None = None
    hidden: bool = False


@dataclass(frozen=True)
class DocxStyles:
    """Styles by identifier."""

    styles: dict[str, DocxStyle]

    @classmethod
    def read(cls, root: "_Element | None") -> "DocxStyles":
        """Read the part with the styles; None if a document has none."""
        elements = [] if root is None else [element for element in root if local_name(element.tag) == "style"]
        return cls({value(element, "styleId"): _style(element) for element in elements})

    def markup(self, properties: "_Element | None") -> tuple[list[str], dict[str, str]]:
        """Return the HTML elements of a paragraph, from the outermost, and the attributes of the innermost."""
        style_id = value(child(properties, "pStyle"))
        styles = self._ancestry(style_id)
        name = styles[0].name if styles else style_id
        if any(_LEFT_OUT.fullmatch(style.name) for style in styles):
            return ["p"], {"hidden": ""}
        if any(style.name.lower() == "title" for style in styles):
            return ["h1"], {"class": "doc-title"}
        level = self._outline(properties, styles)
        if level is not None:
            return [f"h{min(level + 1, 6)}"], {}
        if _CAPTION.fullmatch(name):
            return ["p"], {"class": "caption"}
        if any(_CODE.fullmatch(style.name) for style in styles):
            return ["pre"], {}
        item = self._list_level(properties, styles)
        return (["p"] if item is None else [*["ul"] * (item + 1), "li"]), {}

    def hides(self, properties: "_Element | None") -> bool:
        """Return whether the text of a run is hidden."""
        if properties is None:
            return False
        return _is_on(child(properties, "vanish")) or any(
            style.hidden for style in self._ancestry(value(child(properties, "rStyle")))
        )

    def _ancestry(self, style_id: str) -> list[DocxStyle]:
        """Return a style and those that it is made from."""
        styles: list[DocxStyle] = []
        while style_id in self.styles and len(styles) < _MAX_PARENTS:
            styles.append(self.styles[style_id])
            style_id = styles[-1].parent
        return styles

    def _outline(self, properties: "_Element | None", styles: list[DocxStyle]) -> int | None:
        level = _level(child(properties, "outlineLvl"))
        levels = [level, *(style.outline for style in styles)]
        level = next((level for level in levels if level is not None), None)
        return level if level is not None and level < _MAX_LEVEL else None

    def _list_level(self, properties: "_Element | None", styles: list[DocxStyle]) -> int | None:
        numbering = child(properties, "numPr")
        if numbering is None:
            return next((style.list_level for style in styles if style.list_level is not None), None)
        if value(child(numbering, "numId")) == "0":
            return None
        return min(_level(child(numbering, "ilvl")) or 0, _MAX_LEVEL - 1)


def child(element: "_Element | None", name: str) -> "_Element | None":
    """Return the first element of a name in an element; None if there is none."""
    if element is None:
        return None
    return next((inner for inner in element if local_name(inner.tag) == name), None)


def value(element: "_Element | None", name: str = "val") -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    if element is None:
        return ""
    return next((str(text) for key, text in element.attrib.items() if local_name(key) == name), "")


def _style(element: "_Element") -> DocxStyle:
    """Return a style."""
    name = value(child(element, "name"))
    paragraph = child(element, "pPr")
    numbering = child(paragraph, "numPr")
    heading = _HEADING.fullmatch(name)
    return DocxStyle(
        name,
        value(child(element, "basedOn")),
        int(heading[1]) - 1 if heading else _level(child(paragraph, "outlineLvl")),
        None if numbering is None and not _LIST.fullmatch(name) else _level(child(numbering, "ilvl")) or 0,
        _is_on(child(child(element, "rPr"), "vanish")),
    )


def _level(element: "_Element | None") -> int | None:
    text = value(element)
    return int(text) if text.isdecimal() and len(text) < _MAX_LEVEL else None


def _is_on(element: "_Element | None") -> bool:
    return element is not None and value(element).lower() not in _OFF
