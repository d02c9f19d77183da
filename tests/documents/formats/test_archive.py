import io
import zipfile

import pytest

from sumpool.documents.office.archive import DocumentArchive, part_name
from tests.documents.formats.office_files import archive


def test_parts_are_read_by_name() -> None:
    assert DocumentArchive(archive({"a.xml": "<a/>"}), "DOCX").read("a.xml") == b"<a/>"


def test_part_that_is_missing() -> None:
    with pytest.raises(ValueError, match=r"must be a DOCX file, got an archive without b.xml"):
        DocumentArchive(archive({"a.xml": ""}), "DOCX").read("b.xml")


def test_content_that_is_no_archive() -> None:
    with pytest.raises(ValueError, match="must be a complete DOCX file, got a damaged one"):
        DocumentArchive(b"text", "DOCX")


def test_damaged_part() -> None:
    content = bytearray(archive({"a.xml": "<a>" + "text " * 100 + "</a>"}))
    content[40:45] = b"\xff\xff\xff\xff\xff"
    with pytest.raises(ValueError, match=r"must be complete, got a damaged part a.xml"):
        DocumentArchive(bytes(content), "DOCX").read("a.xml")


def test_part_that_is_no_xml() -> None:
    with pytest.raises(ValueError, match=r"must hold XML in a.xml, got"):
        DocumentArchive(archive({"a.xml": "<a>"}), "DOCX").xml("a.xml")


def test_password() -> None:
    content = bytearray(archive({"a.xml": "<a/>"}))
    start = content.rindex(b"PK\x01\x02")
    content[start + 8] |= 1
    with pytest.raises(ValueError, match="must not be encrypted, got a DOCX file with a password"):
        DocumentArchive(bytes(content), "DOCX").read("a.xml")


def test_compound_file() -> None:
    for content, message in [
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "must not be encrypted, got a DOCX file"),
        (b"\xd0\xcf\x11\xe0 WordDocument", "must be a DOCX file, got an old Office file"),
    ]:
        with pytest.raises(ValueError, match=message):
            DocumentArchive(content, "DOCX")


def test_part_larger_than_it_says_is_damaged() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a", b"x" * 10_000)
    content = stream.getvalue().replace((10_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    with pytest.raises(ValueError, match="must be complete, got a damaged part a"):
        DocumentArchive(content, "DOCX").read("a")


def test_repacked_archives_hold_the_xml_parts_alone() -> None:
    content = archive({"a.xml": "<a/>", "b.xml": "<b/>", "_rels/.rels": "<r/>", "media/c.png": "x"})
    with zipfile.ZipFile(io.BytesIO(DocumentArchive(content, "DOCX").repacked({"b.xml": b"<c/>"}))) as parts:
        assert {name: parts.read(name) for name in parts.namelist()} == {
            "_rels/.rels": b"<r/>",
            "a.xml": b"<a/>",
            "b.xml": b"<c/>",
        }


def test_names_of_parts() -> None:
    assert part_name("OEBPS/book.opf", "../images/a b.png") == "images/a b.png"
    assert part_name("book.opf", "/c.xhtml") == "/c.xhtml"
