"""Elements of the XML of word processors, and what is done to all of them before pandoc reads them."""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Final, get_args

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.office.archive import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element

_KINDS: Final = get_args(TextBlockKind)
_MARK: Final = 0xF0000
"""Character for private use before the text of a paragraph whose kind pandoc does not know: this one, plus ten times
the number of the kind, plus the level."""
_SPACES: Final[dict[str, str | int | None]] = {" ": "\U000f0801", "\t": "\U000f0802", "\n": "\U000f0803"}
"""Characters for the space in code, which pandoc would reduce to one."""
CELL_MARK: Final = "\U000f0804"
"""Character for private use before a number, which pandoc would write in its own way."""
_OFFICE: Final = "http://schemas.openxmlformats.org"
_PREFIXES: Final = {
    "w": f"{_OFFICE}/wordprocessingml/2006/main",
    "p": f"{_OFFICE}/presentationml/2006/main",
    "a": f"{_OFFICE}/drawingml/2006/main",
    "r": f"{_OFFICE}/officeDocument/2006/relationships",
}
"""Namespaces of Office files, by the prefixes by which pandoc knows them."""


def marked(text: str, kind: TextBlockKind, level: int = 0) -> str:
    """Return the text of a paragraph with a mark of its kind."""
    text = text.translate(str.maketrans(_SPACES)) if kind == "code" else text
    return f"{chr(_MARK + 10 * _KINDS.index(kind) + min(level, 9))}{text}"


def unmarked(block: TextBlock) -> TextBlock:
    """Return a block with the kind that the mark before its text says."""
    number = ord(block.text[:1] or " ") - _MARK
    if not 0 <= number < 10 * len(_KINDS):
        return block
    kind = _KINDS[number // 10]
    if kind == "code":
        text = block.text[1:]
        for space, mark in _SPACES.items():
            text = text.replace(str(mark), space)
        return TextBlock(text.expandtabs().rstrip(), kind)
    return TextBlock(block.text[1:].strip(), kind, number % 10)


def child(element: "_Element | None", name: str) -> "_Element | None":
    """Return the first element of a name in an element; None if there is none."""
    return None if element is None else next(element.iterchildren(f"{{*}}{name}"), None)


def value(element: "_Element | None", name: str = "val") -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    if element is None:
        return ""
    return next((str(text) for key, text in element.attrib.items() if local_name(key) == name), "")


def prune(root: "_Element", drops: "Callable[[_Element, str], bool]") -> None:
    """Remove the elements that a function names, and references to entities.

    Args:
        root: Root of a part.
        drops: Function that is given an element and its name without a namespace, the outer before the inner.
    """
    stack = [root]
    while stack:
        element = stack.pop()
        for inner in list(element):
            name = local_name(inner.tag)
            if not name or drops(inner, name):
                remove(inner)
            else:
                stack.append(inner)


def remove(element: "_Element") -> None:
    """Remove an element, but not the text behind it."""
    parent = element.getparent()
    assert parent is not None
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + (element.tail or "")
    else:
        before.tail = (before.tail or "") + (element.tail or "")
    parent.remove(element)


def serialised(root: "_Element") -> bytes:
    """Return a part of an Office file with the prefixes of namespaces by which pandoc knows its elements."""
    from lxml import etree

    others = {
        prefix: name
        for prefix, name in root.nsmap.items()
        if prefix not in _PREFIXES and name not in _PREFIXES.values()
    }
    renamed = root.makeelement(root.tag, dict(root.attrib), {**others, **_PREFIXES})
    renamed.extend(map(deepcopy, root))  # the elements themselves would take time that grows with their square
    return bytes(etree.tostring(renamed))


def move_behind(paragraph: str, box: str, root: "_Element") -> None:
    """Move the content of text boxes behind the paragraph that they stand in, whose sentence they interrupt.

    Args:
        paragraph: Name of the elements that are paragraphs.
        box: Name of the elements that are boxes.
        root: Root of a part.
    """
    for element in [element for element in root.iter() if local_name(element.tag) == box]:
        outer = [parent for parent in element.iterancestors() if local_name(parent.tag) == paragraph]
        if outer:
            for inner in reversed(list(element)):
                outer[-1].addnext(inner)
            remove(element)
