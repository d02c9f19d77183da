"""Zip archives of documents, and their XML parts.

Parts are read by the names in the archive and never written, so `../../etc/passwd` names nothing outside.
"""

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from io import BytesIO
from typing import Final, get_args

from lxml import etree
from lxml.etree import _Element

from sumpool.documents.document import TextBlock, TextBlockKind

_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, struct.error, ValueError,
)  # fmt: skip
_COMPOUND_FILE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_STREAM: Final = "EncryptedPackage".encode("utf-16-le")
_PROPERTIES: Final = ("docProps/core.xml", "meta.xml")
"""Parts with the properties of a document."""
_ENCRYPTED: Final = 1
"""Flag of an encrypted part."""


class DocumentArchive:
    """Parts of a document that is a zip archive.

    Attributes:
        format_name: Name of the format in messages, such as "DOCX".
        names: Names of the parts.
    """

    def __init__(self, content: bytes, format_name: str) -> None:
        """Open an archive.

        Raises:
            ValueError: If the content is no archive, or is encrypted; the message lacks the subject.
        """
        self.format_name = format_name
        if content.startswith(_COMPOUND_FILE) and _ENCRYPTED_STREAM in content:
            raise ValueError(f"must not be encrypted, got a {format_name} file with a password; save it without one")
        if content.startswith(_COMPOUND_FILE):
            raise ValueError(f"must be a {format_name} file, got an old Office file; save it as .docx or .odt")
        try:
            self._zip = zipfile.ZipFile(BytesIO(content))
        except _DAMAGE as error:
            raise ValueError(
                f"must be a complete {format_name} file, got a damaged one: {error}; get it again"
            ) from error
        self.names = frozenset(self._zip.namelist())

    def read(self, name: str) -> bytes:
        """Return a part.

        Raises:
            ValueError: If there is none of the name, or it is damaged or encrypted; the message lacks the subject.
        """
        if name not in self.names:
            raise ValueError(f"must be a {self.format_name} file, got an archive without {name}")
        if self._zip.getinfo(name).flag_bits & _ENCRYPTED:
            raise ValueError(
                f"must not be encrypted, got a {self.format_name} file with a password; save it without one"
            )
        try:
            return self._zip.read(name)
        except _DAMAGE as error:
            raise ValueError(f"must be complete, got a damaged part {name}: {error}; get the file again") from error

    def repacked(self, parts: Mapping[str, bytes]) -> bytes:
        """Return an archive of the XML parts alone, which tells the truth about their sizes.

        Args:
            parts: Contents of parts that are not as in this archive.

        Raises:
            ValueError: As `read`.
        """
        stream = BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as target:
            for name in sorted(self.names | parts.keys()):
                if name in parts or name.endswith((".xml", ".rels")):
                    target.writestr(name, parts[name] if name in parts else self.read(name))
        return stream.getvalue()

    def xml(self, name: str) -> _Element:
        """Return the root of an XML part, whose entities are not resolved.

        Raises:
            ValueError: As `read`, or if the part is not XML; the message lacks the subject.
        """
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            root: _Element = etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            raise ValueError(f"must hold XML in {name}, got: {error}") from error
        return root

    def title(self) -> str:
        """Return the title in the properties of the document; empty if there is none.

        Raises:
            ValueError: As `xml`.
        """
        for name in self.names.intersection(_PROPERTIES):
            for element in self.xml(name).iter():
                if local_name(element.tag) == "title":
                    return " ".join("".join(str(text) for text in element.itertext()).split())
        return ""


def part_name(base: str, reference: str) -> str:
    """Return the name of a part from a reference in the part `base`; it may not exist."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), reference))


@lru_cache(1024)
def local_name(tag: object) -> str:
    """Return the name of an XML element or attribute without its namespace; empty for an entity."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


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


def child(element: _Element | None, name: str) -> _Element | None:
    """Return the first element of a name in an element; None if there is none."""
    return None if element is None else next(element.iterchildren(f"{{*}}{name}"), None)


def value(element: _Element | None, name: str = "val") -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    if element is None:
        return ""
    return next((str(text) for key, text in element.attrib.items() if local_name(key) == name), "")


def prune(root: _Element, drops: Callable[[_Element, str], bool]) -> None:
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


def remove(element: _Element) -> None:
    """Remove an element, but not the text behind it."""
    parent = element.getparent()
    assert parent is not None
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + (element.tail or "")
    else:
        before.tail = (before.tail or "") + (element.tail or "")
    parent.remove(element)


def serialised(root: _Element) -> bytes:
    """Return a part of an Office file with the prefixes of namespaces by which pandoc knows its elements."""
    others = {
        prefix: name
        for prefix, name in root.nsmap.items()
        if prefix not in _PREFIXES and name not in _PREFIXES.values()
    }
    renamed = root.makeelement(root.tag, dict(root.attrib), {**others, **_PREFIXES})
    renamed.extend(map(deepcopy, root))  # the elements themselves would take time that grows with their square
    return bytes(etree.tostring(renamed))


def move_behind(box: str, root: _Element) -> None:
    """Move the content of text boxes behind the paragraph that they stand in, whose sentence they interrupt.

    Args:
        box: Name of the elements that are boxes.
        root: Root of a part.
    """
    for element in [element for element in root.iter() if local_name(element.tag) == box]:
        outer = [parent for parent in element.iterancestors() if local_name(parent.tag) == "p"]
        if outer:
            for inner in reversed(list(element)):
                outer[-1].addnext(inner)
            remove(element)
