"""Word documents (.docx), whose elements are mapped to those of HTML; footnotes and endnotes come last.

Deleted and moved text, hidden text, comments, headers, footers, tables of contents and pictures are left out. Nothing
but the document's own XML is opened, so that linked files are never read.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.documents.html.tree import MAX_DEPTH, HtmlElement
from sumpool.documents.office.archive import DocumentArchive, local_name, part_name
from sumpool.documents.office.blocks import office_document
from sumpool.documents.office.docx_styles import DocxStyles, child, value

if TYPE_CHECKING:
    from lxml.etree import _Element

_CORE_PART: Final = "docProps/core.xml"
_RELATIONS: Final = "_rels/.rels"
_SKIPPED_NAMES: Final = (
    "pPr rPr tblPr trPr tcPr sectPr sdtPr sdtEndPr tblGrid del moveFrom instrText delText delInstrText Fallback "
    "footnoteRef endnoteRef annotationRef docPr cNvPr rt"
)
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
"""Elements whose text is not of the document; the alternative `Fallback` repeats the text of its `Choice`."""
_TAGS: Final = {"tbl": "table", "tr": "tr", "tc": "td", "txbxContent": "div"}
_SIGNS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a Word document.

    Raises:
        ValueError: If the content is not a Word document, is encrypted or damaged, or unpacks to too much; the message
            lacks the subject.
        DataError: If lxml is not installed.
    """
    archive = DocumentArchive(content, "DOCX", options.limits)
    main = _main_part(archive)
    body = child(archive.xml(main), "body")
    if body is None:
        raise ValueError(f"must be a Word document, got no body in {main}; save it as .docx")
    style_part = part_name(main, "styles.xml")
    mapping = _WordMapping(DocxStyles.read(archive.xml(style_part) if style_part in archive.names else None))
    top = HtmlElement("body")
    mapping.append_children(body, top)
    for kind in ("footnote", "endnote"):
        part = part_name(main, f"{kind}s.xml")
        if part in archive.names:
            mapping.append_notes(archive.xml(part), kind, top)
    return office_document(top, archive.title(_CORE_PART))


class _WordMapping:
    """Mapping of the elements of a Word document to HTML; it remembers the notes that the text refers to."""

    def __init__(self, styles: DocxStyles) -> None:
        self.styles = styles
        self.references: dict[str, list[str]] = {"footnote": [], "endnote": []}

    def append_children(self, source: "_Element", target: HtmlElement, depth: int = 0) -> None:
        """Append what is inside an element of the document."""
        if depth > 2 * MAX_DEPTH:
            raise ValueError("must nest its elements less deeply, got more levels than can be read")
        for element in source:
            name = local_name(element.tag)
            if name and name not in _SKIPPED:
                self._append(element, name, target, depth + 1)

    def append_notes(self, root: "_Element", kind: str, target: HtmlElement) -> None:
        """Append the footnotes or endnotes that the text refers to, in its order."""
        notes = {value(note, "id"): note for note in root if local_name(note.tag) == kind}
        for reference in dict.fromkeys(self.references[kind]):
            if reference in notes:
                self._nest(["div"], {}, notes[reference], target, 0)

    def _append(self, source: "_Element", name: str, target: HtmlElement, depth: int) -> None:
        if name == "t":
            target.append(source.text or "")
        elif name in _SIGNS:
            target.append(_SIGNS[name])
        elif name in ("footnoteReference", "endnoteReference"):
            self.references[name.removesuffix("Reference")].append(value(source, "id"))
        elif name == "p":
            tags, attributes = self.styles.markup(child(source, "pPr"))
            self._nest(tags, attributes, source, target, depth)
        elif name in _TAGS:
            if child(child(source, "trPr"), "del") is None:
                self._nest([_TAGS[name]], {}, source, target, depth)
        elif not self._leaves_out(source, name):
            self.append_children(source, target, depth)

    def _leaves_out(self, source: "_Element", name: str) -> bool:
        """Return whether a run is hidden or a content control is a table of contents."""
        if name == "r":
            return self.styles.hides(child(source, "rPr"))
        gallery = child(child(child(source, "sdtPr"), "docPartObj"), "docPartGallery") if name == "sdt" else None
        return gallery is not None and value(gallery) == "Table of Contents"

    def _nest(
        self, tags: list[str], attributes: dict[str, str], source: "_Element", target: HtmlElement, depth: int
    ) -> None:
        """Append the content of an element inside new elements, the innermost with attributes."""
        elements = [HtmlElement(tag) for tag in tags]
        elements[-1].attributes = attributes
        self.append_children(source, elements[-1], depth)
        for outer, inner in reversed(list(pairwise((target, *elements)))):
            outer.append(inner)
            inner.close(outer)


def _main_part(archive: DocumentArchive) -> str:
    """Return the name of the part with the text."""
    if _RELATIONS in archive.names:
        for relation in archive.xml(_RELATIONS):
            if relation.get("Type", "").endswith("/officeDocument"):
                return part_name("", relation.get("Target", "").lstrip("/"))
    return "word/document.xml"
