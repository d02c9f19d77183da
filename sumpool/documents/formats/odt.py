"""OpenDocument texts (.odt), whose elements are mapped to those of HTML; footnotes come last.

Deleted text, comments, headers, footers, indexes, hidden text and pictures are left out.
"""

from typing import TYPE_CHECKING, Final

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.documents.html.tree import MAX_DEPTH, HtmlElement
from sumpool.documents.office.archive import DocumentArchive, local_name
from sumpool.documents.office.blocks import office_document
from sumpool.documents.office.odt_styles import OdtStyles

if TYPE_CHECKING:
    from lxml.etree import _Element

_TAGS: Final = {
    "p": "p", "list": "ul", "numbered-list": "ul", "list-item": "li", "list-header": "li", "table": "table",
    "table-row": "tr", "table-cell": "td", "covered-table-cell": "td", "section": "div", "text-box": "div",
    "table-header-rows": "thead", "table-rows": "tbody", "table-row-group": "tbody", "line-break": "br", "text": "div",
}  # fmt: skip
_SKIPPED_NAMES: Final = (
    "tracked-changes annotation annotation-end table-of-content alphabetical-index illustration-index "
    "table-index object-index user-index sequence-decls variable-decls user-field-decls "
    "dde-connection-decls forms script hidden-text hidden-paragraph binary-data event-listeners title desc object "
    "object-ole note-citation ruby-text index-title-template bibliography-source "
    "bibliography-configuration page-sequence"
)
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
"""Elements whose text is not of the document."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read an OpenDocument text.

    Raises:
        ValueError: If the content is not one, is encrypted or damaged, or unpacks to too much; the message lacks the
            subject.
        DataError: If lxml is not installed.
    """
    archive = DocumentArchive(content, "ODT", options.limits)
    _check_encryption(archive)
    root = archive.xml("content.xml")
    body = next((element for element in root.iter() if local_name(element.tag) == "text" and _is_body(element)), None)
    if body is None:
        raise ValueError("must be an OpenDocument text, got a document of another kind; save it as .odt")
    roots = [root, *([archive.xml("styles.xml")] if "styles.xml" in archive.names else [])]
    mapping = _OdtMapping(OdtStyles.read(roots))
    return office_document(mapping.convert(body), archive.title("meta.xml"))


class _OdtMapping:
    """Mapping of OpenDocument elements to HTML; it collects the footnotes."""

    def __init__(self, styles: OdtStyles) -> None:
        self.styles = styles
        self.notes: list[HtmlElement] = []

    def convert(self, body: "_Element") -> HtmlElement:
        top = HtmlElement("body")
        self._children(body, top, 0)
        for note in self.notes:
            top.append(note)
            note.close(top)
        return top

    def _children(self, source: "_Element", target: HtmlElement, depth: int) -> None:
        if source.text:
            target.append(source.text)
        for child in source:
            name = local_name(child.tag)
            if name and name not in _SKIPPED:
                self._element(child, name, target, depth + 1)
            if child.tail:
                target.append(child.tail)

    def _element(self, source: "_Element", name: str, target: HtmlElement, depth: int) -> None:
        if depth > 2 * MAX_DEPTH:
            raise ValueError("must nest its elements less deeply, got more levels than can be read")
        if name in ("s", "tab"):
            target.append(" ")
        elif name == "note":
            self._note(source, depth)
        else:
            element = self._mapped(source, name)
            self._children(source, element, depth)
            target.append(element)
            element.close(target)

    def _mapped(self, source: "_Element", name: str) -> HtmlElement:
        """Return the HTML element of an element, without its children."""
        style = self.styles.of(_attribute(source, "style-name"))
        if name == "h":
            level = _attribute(source, "outline-level")
            return HtmlElement(f"h{min(6, max(1, int(level)))}" if level.isdecimal() else "h1", dict(style))
        if name == "p" and "title" in style.get("class", ""):
            return HtmlElement("h1", dict(style))
        if name == "p" and style.get("class") == "code":
            return HtmlElement("pre", dict(style))
        return HtmlElement(_TAGS.get(name, "span"), dict(style))

    def _note(self, source: "_Element", depth: int) -> None:
        """Put the text of a footnote or endnote to the end of the document."""
        for child in source:
            if local_name(child.tag) == "note-body":
                note = HtmlElement("div")
                self.notes.append(note)
                self._children(child, note, depth)


def _is_body(element: "_Element") -> bool:
    parent = element.getparent()
    return parent is not None and local_name(parent.tag) == "body"


def _attribute(element: "_Element", name: str) -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    return next((str(value) for key, value in element.attrib.items() if local_name(key) == name), "")


def _check_encryption(archive: DocumentArchive) -> None:
    """Raise ValueError if the manifest names encrypted parts."""
    name = "META-INF/manifest.xml"
    if name in archive.names and b"encryption-data" in archive.read(name):
        raise ValueError("must not be encrypted, got an ODT file with a password; save it without one")
