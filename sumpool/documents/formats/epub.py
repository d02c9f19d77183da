"""EPUB books: the chapters of the spine, without tables of contents and covers; legal pages are notices."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from unicodedata import normalize
from urllib.parse import unquote

from sumpool.documents.decoding import decode_page
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.markup import HtmlBlocks, HtmlElement, PageParts, parse_markup
from sumpool.documents.office.archive import DocumentArchive, local_name, part_name
from sumpool.documents.sections import is_contents_heading

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_FONT_ALGORITHMS: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Algorithms that encrypt fonts only."""
_PAGE_TYPES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_DROPPED_NAMES: Final = "toc cover landmarks page-list loi lot lov loa index titlepage title-page halftitlepage"
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
_NOTICES_NAMES: Final = "copyright-page colophon imprint imprimatur copyright"
_NOTICES: Final = frozenset(_NOTICES_NAMES.split())
_LEGAL_HEADING: Final = re.compile(
    r"(?:legal notices?|copyright(?: (?:notice|page|information))?|licen[sc]e|colophon|imprint|impressum|rechtliches|"
    r"mentions l\u00e9gales|the full project gutenberg.*licen[sc]e.*|about this (?:e-?book|edition))\W*",
    re.IGNORECASE,
)
_LINKED_SHARE: Final = 0.8
"""Share of linked text from which a chapter is a table of contents or an index."""
_MIN_LINKED: Final = 200
"""Linked characters of such a chapter."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:  # noqa: ARG001 - the interface of formats
    """Read an EPUB book.

    Raises:
        ValueError: If the content is not one, or is encrypted or damaged; the message lacks the subject.
    """
    archive = DocumentArchive(content, "EPUB")
    encrypted = archive.xml(_ENCRYPTION).iter() if _ENCRYPTION in archive.names else ()
    methods = [element for element in encrypted if local_name(element.tag) == "EncryptionMethod"]
    if any(method.get("Algorithm", "") not in _FONT_ALGORITHMS for method in methods):
        raise ValueError("must not be encrypted, got a book with digital rights management")
    title, pages, kinds = _read_package(archive)
    blocks: list[TextBlock] = []
    missing = 0
    for page in pages:
        if page not in archive.names:
            missing += 1
        elif not kinds[page] & _DROPPED:
            blocks.extend(_chapter(archive.read(page), kinds[page]))
    if missing == len(pages):
        raise ValueError(f"must hold its chapters, got a book without all {missing} of them; get the file again")
    notes = (f"{missing} chapter{'s' if missing > 1 else ''} missing in the book",) if missing else ()
    return ParsedDocument(tuple(blocks), title, notes)


def _chapter(content: bytes, kinds: set[str]) -> Iterator[TextBlock]:
    """Yield the blocks of a chapter; none for a table of contents."""
    tree = parse_markup(decode_page(content)[0])
    body = tree.find("body") or tree
    if body.linked > _LINKED_SHARE * body.size and body.linked > _MIN_LINKED:
        return
    for element in body.descendants():  # tables of contents and covers inside a chapter, and its notices
        inner = _kinds_of(element)
        if inner & _DROPPED or "pagebreak" in inner:
            element.attributes["hidden"] = ""
        elif inner & _NOTICES:
            element.attributes["class"] = "copyright"
    blocks = HtmlBlocks(PageParts(max(body.size, 1), site=False)).read(body)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    prose = any(block.kind == "paragraph" for block in blocks)
    if _kinds_of(body) & _DROPPED or (not prose and is_contents_heading(heading)):
        return
    notice = bool(kinds & _NOTICES) or bool(_kinds_of(body) & _NOTICES) or bool(_LEGAL_HEADING.fullmatch(heading))
    for block in blocks:
        yield replace(block, line=None, kind="notice", level=0) if notice else replace(block, line=None)


def _kinds_of(element: HtmlElement) -> set[str]:
    """Return the kinds of an element by `epub:type` and `role`."""
    role = element.attributes.get("role", "").lower().removeprefix("doc-")
    return {*element.attributes.get("epub:type", "").lower().split(), role}


def _read_package(archive: DocumentArchive) -> tuple[str, list[str], dict[str, set[str]]]:
    """Return the title of a book, its chapters, and the kinds of those that the guide or the manifest names."""
    files = [element for element in archive.xml(_CONTAINER).iter() if local_name(element.tag) == "rootfile"]
    path = files[0].get("full-path", "") if files else ""
    names = {_spelling(spelled): name for name in sorted(archive.names) for spelled in (_as_utf8(name), name)}
    names |= {name: name for name in archive.names}

    def part(base: str, reference: str) -> str:
        """Return the name of the part that another refers to; one that does not exist as it is written."""
        name = part_name(base, reference.partition("#")[0]).lstrip("/")
        return names.get(name) or names.get(_spelling(name), name)

    package = part("", path)
    title = ""
    pages: list[str] = []
    items: dict[str, str] = {}
    kinds: dict[str, set[str]] = defaultdict(set)
    for element in archive.xml(package).iter():
        name = local_name(element.tag)
        if name == "title" and not title:
            title = " ".join("".join(str(text) for text in element.itertext()).split())
        elif name == "item":
            page = part(package, element.get("href", ""))
            if element.get("media-type", "") in _PAGE_TYPES:
                items[element.get("id", "")] = page
            if "nav" in element.get("properties", "").split():
                kinds[page].add("toc")
        elif name == "itemref" and element.get("linear", "yes") != "no" and element.get("idref") in items:
            pages.append(items[element.get("idref", "")])
        elif name == "reference":
            kinds[part(package, element.get("href", ""))].add(element.get("type", "").lower())
    if not pages:
        raise ValueError(f"must be an EPUB book, got a package without chapters in {path}")
    return title, pages, kinds


def _spelling(name: str) -> str:
    """Return a name as all references to it are spelt: without percent signs and capitals, accents composed."""
    return normalize("NFC", unquote(name)).casefold()


def _as_utf8(name: str) -> str:
    """Return the name of a part that lacks the flag of UTF-8, which zip archives then take for code page 437."""
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        return name
