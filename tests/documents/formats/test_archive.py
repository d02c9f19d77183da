import io
import zipfile

import pytest

from sumpool.documents.document import TextBlock
from sumpool.documents.office.archive import DocumentArchive, part_name, unmarked
from tests.documents.formats.office_files import archive


def damaged() -> bytes:
    content = bytearray(archive({"a.xml": "<a>" + "text " * 100 + "</a>"}))
    content[40:45] = b"\xff\xff\xff\xff\xff"
    return bytes(content)


def with_password() -> bytes:
    content = bytearray(archive({"a.xml": "<a/>"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def larger_than_it_says() -> bytes:
    return archive({"a.xml": "x" * 10_000}).replace((10_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))


def test_what_cannot_be_read_is_named() -> None:
    for content, message in [
        (archive({"b.xml": ""}), "must be a DOCX file, got an archive without a.xml"),
        (b"text", "must be a complete DOCX file, got a damaged one"),
        (damaged(), "must be complete, got a damaged part a.xml"),
        (larger_than_it_says(), "must be complete, got a damaged part a.xml"),
        (archive({"a.xml": "<a>"}), "must hold XML in a.xml, got"),
        (with_password(), "must not be encrypted, got a DOCX file with a password"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "must not be encrypted, got a DOCX file"),
        (b"\xd0\xcf\x11\xe0 WordDocument", "must be a DOCX file, got an old Office file"),
    ]:
        with pytest.raises(ValueError, match=message):
            DocumentArchive(content, "DOCX").xml("a.xml")


def test_repacked_archives_hold_the_xml_parts_alone() -> None:
    content = archive({"a.xml": "<a/>", "b.xml": "<b/>", "_rels/.rels": "<r/>", "media/c.png": "x"})
    with zipfile.ZipFile(io.BytesIO(DocumentArchive(content, "DOCX").repacked({"b.xml": b"<c/>"}))) as parts:
        repacked = {name: parts.read(name) for name in parts.namelist()}
    assert repacked == {"_rels/.rels": b"<r/>", "a.xml": b"<a/>", "b.xml": b"<c/>"}


def test_names_of_parts() -> None:
    assert part_name("OEBPS/book.opf", "../images/a b.png") == "images/a b.png"
    assert part_name("book.opf", "/c.xhtml") == "/c.xhtml"


def test_characters_behind_the_last_mark_are_text() -> None:
    marks = next(code for code in range(0xF0000, 0xF1000) if unmarked(TextBlock(f"{chr(code)}a")).text != "a")
    block = TextBlock(f"{chr(marks)}a")
    assert unmarked(block) is block
