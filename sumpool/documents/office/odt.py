"""Parts of OpenDocument texts as pandoc is given them.

What a reader does not see is left out: hidden text, deletions, comments and indexes. Text boxes follow their paragraph.
"""

from collections.abc import Iterable
from typing import Final

from lxml import etree
from lxml.etree import _Element

from sumpool.documents.document import TextBlockKind
from sumpool.documents.office.archive import DocumentArchive, child, local_name, marked, move_behind, prune, value

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_KINDS: Final[dict[str, tuple[TextBlockKind, int]]] = {
    "title": ("heading", 1), "caption": ("caption", 0), "illustration": ("caption", 0), "figure": ("caption", 0),
    "drawing": ("caption", 0), "table": ("caption", 0), "preformatted_20_text": ("code", 0),
    "source_20_code": ("code", 0),
}  # fmt: skip
"""Kinds of paragraphs with a style, or one that it is made from."""
_DROPPED_NAMES: Final = (
    "tracked-changes annotation annotation-end table-of-content alphabetical-index illustration-index table-index "
    "object-index user-index sequence-decls variable-decls user-field-decls dde-connection-decls forms script "
    "hidden-text hidden-paragraph binary-data event-listeners title desc object-ole ruby-text bibliography-source "
    "bibliography-configuration page-sequence"
)
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
_KNOWN_NAMES: Final = (
    "span a s tab line-break note note-citation note-body bookmark bookmark-start bookmark-end p h list soft-page-break"
)
_KNOWN: Final = frozenset(_KNOWN_NAMES.split())
"""Elements of a paragraph that pandoc reads; of others, such as fields, it drops the text."""
_SIGNS: Final = {"tab": "\t", "line-break": "\n"}
_NO_STYLES: Final = b"""<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0">
<office:styles/></office:document-styles>"""
_MAX_PARENTS: Final = 20


def prepare(archive: DocumentArchive) -> dict[str, bytes]:
    """Return the parts of an OpenDocument text that pandoc is given in place of its own.

    Raises:
        ValueError: If it is not one, is encrypted, or is nested too deeply; the message lacks the subject.
    """
    manifest = "META-INF/manifest.xml"
    if manifest in archive.names and b"encryption-data" in archive.read(manifest):
        raise ValueError("must not be encrypted, got an ODT file with a password; save it without one")
    root = archive.xml("content.xml")  # names lxml where it is missing
    if child(child(root, "body"), "text") is None:
        raise ValueError("must be an OpenDocument text, got a document of another kind; save it as .odt")
    has_styles = "styles.xml" in archive.names
    styles = _Styles([root, *([archive.xml("styles.xml")] if has_styles else [])])
    prune(root, styles.drops)
    move_behind("text-box", root)
    for paragraph in list(root.iter(f"{_TEXT}p", f"{_TEXT}h")):
        kind, level = styles.kind(paragraph)  # which pandoc does not know
        if kind == "code":
            text = _code(paragraph)
            del paragraph[:]
            paragraph.text = marked(text, kind)
            continue
        for part in paragraph.iterdescendants(f"{_TEXT}*"):
            if local_name(part.tag) not in _KNOWN:
                part.tag = f"{_TEXT}span"
        if kind != "paragraph" and local_name(paragraph.tag) == "p":
            paragraph.text = marked(paragraph.text or "", kind, level)
    return {"content.xml": etree.tostring(root), **({} if has_styles else {"styles.xml": _NO_STYLES})}


class _Styles:
    """Styles of paragraphs and spans."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        self._styles = {
            value(element, "name"): element
            for root in roots
            for element in root.iter()
            if local_name(element.tag) == "style"
        }

    def kind(self, paragraph: _Element) -> tuple[TextBlockKind, int]:
        """Return the kind and level of a paragraph, as far as its style says."""
        names = (name.lower() for name in self._ancestry(value(paragraph, "style-name")))
        return next((_KINDS[name] for name in names if name in _KINDS), ("paragraph", 0))

    def drops(self, element: _Element, name: str) -> bool:
        """Return whether an element is not of the text that a reader sees."""
        if name in _DROPPED or value(element, "visibility") in ("collapse", "filter"):
            return True
        if name == "section" and (value(element, "display") == "none" or value(element, "is-hidden") == "true"):
            return True
        if name in ("p", "h") and any(
            value(part, "is-hidden") == "true" and next(part.iterancestors(f"{_TEXT}p", f"{_TEXT}h")) is element
            for part in element.iterdescendants(f"{_TEXT}hidden-paragraph")
        ):
            return True
        styles = self._ancestry(value(element, "style-name"))
        return any(value(part, "display") == "none" for style in styles for part in self._styles.get(style, ()))

    def _ancestry(self, name: str) -> list[str]:
        names: list[str] = []
        while name and len(names) < _MAX_PARENTS:
            names.append(name)
            name = value(self._styles.get(name), "parent-style-name")
        return names


def _code(element: _Element) -> str:
    """Return the text of a paragraph with its space."""
    texts = [element.text or ""]
    for part in element:
        name = local_name(part.tag)
        spaces = " " * min(int(value(part, "c")) if value(part, "c").isdecimal() else 1, 200)
        texts += [spaces if name == "s" else _SIGNS.get(name) or _code(part), part.tail or ""]
    return "".join(texts)
