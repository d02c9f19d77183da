"""Zip archives of documents, and their XML parts.

Parts are read by the names in the archive and never written, so `../../etc/passwd` names nothing outside.
"""

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Final

from sumpool.documents.formats import missing_library

if TYPE_CHECKING:
    from lxml.etree import _Element

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
        if content.startswith(_COMPOUND_FILE):
            raise ValueError(_compound_message(content, format_name))
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

    def xml(self, name: str) -> "_Element":
        """Return the root of an XML part, whose entities are not resolved.

        Raises:
            ValueError: As `read`, or if the part is not XML; the message lacks the subject.
            DataError: If lxml is not installed.
        """
        try:
            from lxml import etree
        except ImportError as error:
            raise missing_library("lxml", self.format_name) from error
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
            DataError: If lxml is not installed.
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


def _compound_message(content: bytes, format_name: str) -> str:
    if _ENCRYPTED_STREAM in content:
        return f"must not be encrypted, got a {format_name} file with a password; save it without one"
    return f"must be a {format_name} file, got an old Office file; save it as .docx or .odt"
