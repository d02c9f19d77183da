"""Parts of Word documents as pandoc is given them.

What a reader does not see is left out: hidden text, placeholders, indexes and tables of contents. Text boxes, which
pandoc drops, follow their paragraph; embedded documents (altChunk), which it passes over, are paragraphs in their
places.
"""

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Final

from lxml.etree import _Element

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.office.archive import (
    DocumentArchive,
    child,
    local_name,
    marked,
    move_behind,
    part_name,
    prune,
    remove,
    serialised,
    value,
)

_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXTS: Final = ("footnotes.xml", "endnotes.xml")
_LEFT_OUT: Final = re.compile(
    r"toc (?:\d|heading)|table of figures|index \d|index heading|header|footer", re.IGNORECASE
)
_CAPTION: Final = re.compile(r"caption|figure|table|illustration|drawing|image caption|table caption", re.IGNORECASE)
_CODE: Final = re.compile(r"html preformatted|preformatted text|source code|plain code|code|macro text", re.IGNORECASE)
_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_FRONT: Final = re.compile(r"title|subtitle|author|date|abstract", re.IGNORECASE)
"""Styles that pandoc takes for metadata, as long as no others come before them."""
_SIGNS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_TEXT_TAGS: Final = tuple(f"{_WORD}{name}" for name in ("t", *_SIGNS))
_OFF: Final = ("0", "false", "off", "none")
_MAX_PARENTS: Final = 20


def prepare(archive: DocumentArchive, read: Callable[[bytes], Iterable[TextBlock]]) -> dict[str, bytes]:
    """Return the parts of a Word document that pandoc is given in place of its own.

    Args:
        archive: Parts of the document.
        read: Function that returns the blocks of an embedded document.

    Raises:
        ValueError: If it is not one, or is nested too deeply; the message lacks the subject.
    """
    main = "word/document.xml"
    for relation in archive.xml("_rels/.rels") if "_rels/.rels" in archive.names else ():
        if relation.get("Type", "").endswith("/officeDocument"):
            main = part_name("", relation.get("Target", "").lstrip("/"))
            break
    if child(archive.xml(main), "body") is None:
        raise ValueError(f"must be a Word document, got no body in {main}; save it as .docx")
    styles = _Styles(archive, part_name(main, "styles.xml"))
    parts: dict[str, bytes] = {}
    texts = (main, *(part_name(main, text) for text in _TEXTS))
    for name in archive.names:
        if not name.endswith(".xml") or posixpath.dirname(name) != posixpath.dirname(main):
            continue
        root = archive.xml(name)
        if name in texts:
            prune(root, styles.drops)
            for paragraph in list(root.iter(f"{_WORD}p")):
                # Drop caps go into the paragraph behind them, with the space between them, which pandoc would remove.
                properties, following = child(paragraph, "pPr"), paragraph.getnext()
                frame = child(properties, "framePr")
                if properties is None or frame is None or value(frame, "dropCap") not in ("drop", "margin"):
                    continue
                properties.remove(frame)  # or pandoc would join what is behind it
                if following is not None and local_name(following.tag) == "p":
                    start = 0 if child(following, "pPr") is None else 1
                    following[start:start] = [part for part in paragraph if part is not properties]
                    remove(paragraph)
            move_behind("txbxContent", root)
            for link in [link for link in root.iter(f"{_WORD}hyperlink") if link.getparent().tag == f"{_WORD}r"]:
                link.getparent().addnext(link)  # which pandoc reads beside runs only
            _mark_paragraphs(root, styles)
            # The paragraphs of embedded documents are in the places of the elements that name them.
            relations = part_name(name, f"_rels/{posixpath.basename(name)}.rels")
            chunks = list(root.iter(f"{_WORD}altChunk"))
            targets = {value(part, "Id"): value(part, "Target") for part in archive.xml(relations)} if chunks else {}
            for chunk in chunks:
                part = part_name(name, targets.get(value(chunk, "id"), "")).lstrip("/")
                for block in read(archive.read(part) if part in archive.names else b""):
                    paragraph = chunk.makeelement(f"{_WORD}p")
                    _insert(paragraph, marked(block.text, block.kind, block.level))
                    chunk.addprevious(paragraph)
        parts[name] = serialised(root)
    return parts


class _Styles:
    """Styles of paragraphs and runs."""

    def __init__(self, archive: DocumentArchive, part: str) -> None:
        styles = archive.xml(part) if part in archive.names else ()
        self._styles = {value(style, "styleId"): style for style in styles if local_name(style.tag) == "style"}
        self._ancestries: dict[str, list[_Element]] = {}  # asked for at every paragraph and run
        for style_id in self._styles:
            ancestry, parent = self._ancestries.setdefault(style_id, []), style_id
            while parent in self._styles and len(ancestry) < _MAX_PARENTS:
                ancestry.append(self._styles[parent])
                parent = value(child(ancestry[-1], "basedOn"))
        self._names = {
            style_id: [value(child(style, "name")) for style in ancestry]
            for style_id, ancestry in self._ancestries.items()
        }

    def names(self, paragraph: _Element) -> list[str]:
        """Return the names of the style of a paragraph and of those that it is made from."""
        style_id = value(child(child(paragraph, "pPr"), "pStyle"))
        return self._names.get(style_id, [style_id])

    def kind(self, paragraph: _Element) -> tuple[TextBlockKind, int]:
        """Return the kind and level of a paragraph, as far as its style says."""
        names = self.names(paragraph)
        properties = child(paragraph, "pPr")
        for style in (paragraph, *self._ancestries.get(value(child(properties, "pStyle")), ())):
            level = value(child(child(style, "pPr"), "outlineLvl"))
            named = _HEADING.fullmatch(value(child(style, "name")))
            if named or level in tuple("012345678"):
                return "heading", int(named[1]) if named else int(level) + 1
            if level:
                break
        if _CAPTION.fullmatch(names[0]):
            return "caption", 0
        return "code" if any(_CODE.fullmatch(name) for name in names) else "paragraph", 0

    def drops(self, element: _Element, name: str) -> bool:
        """Return whether an element is not of the text that a reader sees."""
        if name == "Fallback":  # the text of its alternative, once more
            return True
        if name == "tr":
            return child(child(element, "trPr"), "del") is not None
        if name == "r":
            properties = child(element, "rPr")
            styles = self._ancestries.get(value(child(properties, "rStyle")), ())
            marks = [child(part, "vanish") for part in (properties, *(child(style, "rPr") for style in styles))]
            return any(mark is not None and value(mark).lower() not in _OFF for mark in marks)
        if name == "p":
            return any(_LEFT_OUT.fullmatch(style) for style in self.names(element))
        if name != "sdtContent":
            return False
        properties = child(element.getparent(), "sdtPr")
        gallery = value(child(child(properties, "docPartObj"), "docPartGallery"))
        return gallery == "Table of Contents" or child(properties, "showingPlcHdr") is not None


def _mark_paragraphs(root: _Element, styles: _Styles) -> None:
    """Mark the paragraphs whose kinds pandoc does not know or, as the number of a caption, would drop."""
    in_front = True
    for paragraph in list(root.iter(f"{_WORD}p")):
        name = styles.names(paragraph)[0].lower()
        in_front = in_front and bool(_FRONT.fullmatch(name))
        kind, level = styles.kind(paragraph)
        if name == "title" and not in_front:
            kind, level = "heading", 1
        properties = child(paragraph, "pPr")
        if kind == "paragraph" or (name == "title" and in_front):
            continue
        if properties is not None:
            paragraph.remove(properties)
        text = ""
        if kind in ("code", "caption"):  # whose space and numbers, which are fields, pandoc drops
            text = "".join(_SIGNS.get(local_name(part.tag), part.text or "") for part in paragraph.iter(*_TEXT_TAGS))
            del paragraph[:]
        _insert(paragraph, marked(text, kind, level))


def _insert(paragraph: _Element, text: str) -> None:
    """Insert a run at the beginning of a paragraph."""
    run = paragraph.makeelement(f"{_WORD}r")
    run.append(run.makeelement(f"{_WORD}t"))
    run[0].text = text
    run[0].set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    paragraph.insert(0, run)
