import io
import json
import tracemalloc
import zipfile
from time import process_time

import pytest

from sumpool.documents.detection import detect_format, is_html, is_mail, supported_suffixes

MAIL = b"From: a@example.com\nTo: b@example.com\nSubject: packets\n\nText."
ROFF = b'.\\" a comment\n.TH LS 1\n.SH NAME\nls \\- list files\n'
RFC = b"Network Working Group    J. Doe\nRequest for Comments: 9\n\nText.\n"
RST = b"Title\n=====\n\n.. note:: Text with ``code``.\n\nSee :ref:`other`.\n"
MARKDOWN = b"# Title\n\nText with a [link](https://example.com) and **more**.\n"
PLAIN = b"Title\n\nA paragraph. # not a heading\n"


def zipped(*names: str, mimetype: str = "", manifest: str = "") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        if manifest:
            archive.writestr("META-INF/manifest.xml", f'<manifest:file-entry manifest:media-type="{manifest}"/>')
        for name in names:
            archive.writestr(name, "x")
    return content.getvalue()


def test_the_kind_of_an_archive_is_not_unpacked_by_a_method_without_limits() -> None:
    """Of which 900 bytes are gigabytes, whatever is asked for."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("mimetype", bytes(2**26))
    tracemalloc.start()
    with pytest.raises(ValueError, match="must be a document, got a zip archive"):
        detect_format(content.getvalue())
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_content_names_the_format() -> None:
    for suffix in ["", ".txt", ".1", ".unknown"]:
        for content, format_name in [
            (b"%PDF-1.4\n", "pdf"),
            (b"<!-- a --><!-- b -->\n<!DOCTYPE html>\n<html>", "html"),
            (b"<div><p>a</p><p>b</p><ul><li>c</li></ul></div>", "html"),
            (zipped("word/document.xml"), "docx"),
            (zipped(mimetype="application/vnd.oasis.opendocument.text"), "odt"),
            (zipped("content.xml", manifest="application/vnd.oasis.opendocument.text"), "odt"),
            (zipped("META-INF/container.xml"), "epub"),
            (zipped(mimetype="application/epub+zip"), "epub"),
            (b"PAR1...", "parquet"),
            (b'{"text": "a"}\n{"text": "b"}', "jsonl"),
            (MAIL, "mail"),
            (ROFF, "man"),
            (RFC, "rfc"),
            (RST, "rst"),
            (MARKDOWN, "markdown"),
            (PLAIN, "text"),
            (PLAIN.decode().encode("utf-16"), "text"),
            (PLAIN.decode().encode("utf-16-le"), "text"),
            (ROFF.decode().encode("utf-16-be"), "man"),
            (b"", "text"),
        ]:
            assert detect_format(content, suffix) == format_name


def test_suffix_names_the_format_unless_the_content_is_another() -> None:
    for content, suffix, format_name in [
        (b"<html><body>", ".pdf", "html"),
        (b"%PDF-1.4", ".html", "pdf"),
        (PLAIN, ".md", "markdown"),
        (b"<p align=center>" * 10, ".md", "markdown"),
        (PLAIN, ".rst", "rst"),
        (PLAIN, ".html", "html"),
        (PLAIN, ".pdf", "pdf"),
        (b"a,b\n1,2", ".csv", "csv"),
        (b"a\tb", ".tsv", "tsv"),
        (b"", ".jsonl", "jsonl"),
        (b"", ".pdf", "pdf"),
    ]:
        assert detect_format(content, suffix) == format_name


def test_binary_content_is_named() -> None:
    for content, kind in [
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\x7fELF\2", "a program"),
        (b"\xd0\xcf\x11\xe0", "an old Office file"),
        (bytes(range(32)) * 9, "binary data"),
    ]:
        with pytest.raises(ValueError, match=f"must be text or one of .txt, .*, got {kind}"):
            detect_format(content, ".txt")


def test_archives_are_named() -> None:
    assert detect_format(zipped("xl/workbook.xml")) == "xlsx"
    assert detect_format(zipped("ppt/presentation.xml")) == "pptx"
    with pytest.raises(ValueError, match="must be a document, got a zip archive; unpack it"):
        detect_format(zipped("a.txt"))
    with pytest.raises(ValueError, match=r"must be a complete file, got a damaged zip archive: .*; get the file again"):
        detect_format(zipped("a.txt")[:40])


def test_structured_data_are_named() -> None:
    for data in (json.dumps({"text": "a"}, indent=1), json.dumps([{"text": "a"}])):
        with pytest.raises(ValueError, match="must be text or JSON lines, got other JSON; write one object per line"):
            detect_format(data.encode())
    with pytest.raises(ValueError, match="must be text, got XML; convert it to HTML"):
        detect_format(b"<?xml version='1.0'?>\n<book/>")
    assert detect_format(b"[1] A reference") == "text"


def test_texts_of_other_programs_are_known_by_their_beginning() -> None:
    cells = json.dumps({"cells": [{"cell_type": "code"}], "nbformat": 4}, indent=1)
    for text, kind in [
        ("{\\rtf1\\ansi Text.}", "rtf"),
        ("% a comment\n\\documentclass{article}\n", "latex"),
        ("# a comment\n#+TITLE: Rain\n* Rivers\n", "org"),
        ("// a comment\n#set page(width: 10cm)\n= Rain\n", "typst"),
        (
            "<?xml version='1.0'?>\n<!DOCTYPE article PUBLIC 'JATS'>\n<article id='a'>\n<front></front></article>",
            "jats",
        ),
        ("== Rain ==\n'''Rain''' falls from [[cloud|clouds]].\n", "mediawiki"),
        (cells, "ipynb"),
        ("#import <Foundation/Foundation.h>\nint main();\n", "text"),
        ("<article><p>Text.</p><p>a</p><p>b</p></article>", "html"),
    ]:
        assert detect_format(text.encode()) == kind, text
        assert detect_format(text.encode(), ".txt") == kind


def test_headings_and_front_matter_tell_markdown() -> None:
    for text, kind in [
        ("# Rain\n\nIt falls.\n\n## Rivers\n\nThey flow.\n", "markdown"),
        ("## Rain\nIt falls.\n\n## Rivers\nThey flow.\n", "markdown"),
        ("---\ntitle: Rain\ntags:\n  - a\n- b\n---\n\nIt falls.\n", "markdown"),
        ("# Rain\n\nIt falls.\n\n# Rivers\n\nThey flow.\n", "text"),
        ("## The rain:\n# apt install rain\n\n## The rivers.\n# apt install rivers\n", "text"),
        ("######\n###\n###     RAIN\n###\n\n###     RIVERS\n\nIt falls.\n", "text"),
        ("---\ntitle of a text\n---\n\nIt falls.\n", "text"),
        ("---------\nDate: today\n---------\n\nIt falls.\n", "text"),
    ]:
        assert detect_format(text.encode()) == kind, text


def test_beginnings_are_matched_in_linear_time() -> None:
    for part in (
        "---\n",
        "---\na:\n",
        "- \n",
        "## a\n",
        "\n\n## a",
        "\n\n# # ",
        "\n\n#",
        "% a\n",
        "#a\n",
        "//\n",
        "<?a?>",
        "\n",
        "<!",
        "== a",
        "[[a",
        "'''",
        "#set a",
    ):
        start = process_time()
        detect_format((part * (400_000 // len(part))).encode())
        assert process_time() - start < 2, part


def test_a_mail_has_a_header() -> None:
    assert is_mail("From a@b Mon\nReceived: x\n  y\nDate: z\nSubject: s\n\n")
    assert is_mail('MIME-Version: 1.0\nContent-Type: multipart/related; boundary="x"\n\n--x\n')
    assert not is_mail("From: me\nHello,\nSubject: x\nDate: y")
    assert not is_mail("Subject: x\nTo: y\nDate: z\n\n")


def test_html_is_recognised_in_time() -> None:
    assert not is_html("<!-- a -->" * 5_000 + "x")
    assert not is_html("a < b and c > d")


def test_suffixes_are_listed_once() -> None:
    assert supported_suffixes().split(", ").count(".txt") == 1
    assert ".pdf" in supported_suffixes()
