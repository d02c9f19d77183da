import io
import tracemalloc
import zipfile
from time import process_time

import pytest

from sumpool.documents.detection import detect_format, is_html, is_mail, supported_suffixes
from tests.documents.formats.office_files import archive

MAIL = b"From: a@example.com\nTo: b@example.com\nSubject: packets\n\nText."
ROFF = b'.\\" a comment\n.TH LS 1\n.SH NAME\nls \\- list files\n'
RFC = b"Network Working Group    J. Doe\nRequest for Comments: 9\n\nText.\n"
RST = b"Title\n=====\n\n.. note:: Text with ``code``.\n\nSee :ref:`other`.\n"
MARKDOWN = b"# Title\n\nText with a [link](https://example.com) and **more**.\n"
ODT = "application/vnd.oasis.opendocument.text"
PLAIN = b"Title\n\nA paragraph. # not a heading\n"


def test_the_kind_of_an_archive_is_not_unpacked_by_a_method_without_limits() -> None:
    """Of which 900 bytes are gigabytes, whatever is asked for."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_BZIP2) as parts:
        parts.writestr("mimetype", bytes(2**26))
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
            (archive({"word/document.xml": "x"}), "docx"),
            (archive({"xl/workbook.xml": "x"}), "xlsx"),
            (archive({"ppt/presentation.xml": "x"}), "pptx"),
            (archive({"mimetype": ODT}), "odt"),
            (
                archive(
                    {"content.xml": "", "META-INF/manifest.xml": f'<manifest:file-entry manifest:media-type="{ODT}"/>'}
                ),
                "odt",
            ),
            (archive({"META-INF/container.xml": "x"}), "epub"),
            (archive({"mimetype": "application/epub+zip"}), "epub"),
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


def test_other_content_is_refused() -> None:
    for content, message in [
        (b"\x89PNG\r\n", "must be text or one of .txt, .*, got a PNG image"),
        (b"\x7fELF\2", "must be text or one of .txt, .*, got a program"),
        (b"\xd0\xcf\x11\xe0", "must be text or one of .txt, .*, got an old Office file"),
        (bytes(range(32)) * 9, "must be text or one of .txt, .*, got binary data"),
        (archive({"a.txt": "x"}), "must be a document, got a zip archive; unpack it"),
        (archive({"a.txt": "x"})[:40], "must be a complete file, got a damaged zip archive: .*; get the file again"),
        (b'{\n "text": "a"\n}', "must be text or JSON lines, got other JSON; write one object per line"),
        (b'[{"text": "a"}]', "must be text or JSON lines, got other JSON; write one object per line"),
        (b"<?xml version='1.0'?>\n<book/>", "must be text, got XML; convert it to HTML"),
        (b"\0\1\2\3" * 300, "got binary data"),
        (b"ab\0\0cd\0\0" * 100, "got binary data"),
    ]:
        with pytest.raises(ValueError, match=message):
            detect_format(content, ".txt")


def test_texts_of_other_programs_are_known_by_their_beginning() -> None:
    for text, kind in [
        ("{\\rtf1\\ansi Text.}", "rtf"),
        ("% a comment\n\\documentclass{article}\n", "latex"),
        ("# a comment\n#+TITLE: Rain\n* Rivers\n", "org"),
        ("// a comment\n#set page(width: 10cm)\n= Rain\n", "typst"),
        ("<?xml version='1.0'?>\n<!DOCTYPE article PUBLIC 'JATS'>\n<article id='a'>\n<front/></article>", "jats"),
        ("== Rain ==\n'''Rain''' falls from [[cloud|clouds]].\n", "mediawiki"),
        ('{\n "cells": [{"cell_type": "code"}],\n "nbformat": 4\n}', "ipynb"),
        ("#import <Foundation/Foundation.h>\nint main();\n", "text"),
        ("[1] A reference", "text"),
        ("<article><p>Text.</p><p>a</p><p>b</p></article>", "html"),
        ("# Rain\n\nIt falls.\n\n## Rivers\n\nThey flow.\n", "markdown"),
        ("## Rain\nIt falls.\n\n## Rivers\nThey flow.\n", "markdown"),
        ("---\ntitle: Rain\ntags:\n  - a\n- b\n---\n\nIt falls.\n", "markdown"),
        ("# Rain\n\nIt falls.\n\n# Rivers\n\nThey flow.\n", "text"),
        ("## The rain:\n# apt install rain\n\n## The rivers.\n# apt install rivers\n", "text"),
        ("######\n###\n###     RAIN\n###\n\n###     RIVERS\n\nIt falls.\n", "text"),
        ("---\ntitle of a text\n---\n\nIt falls.\n", "text"),
        ("---------\nDate: today\n---------\n\nIt falls.\n", "text"),
    ]:
        assert detect_format(text.encode()) == detect_format(text.encode(), ".txt") == kind, text


def test_beginnings_are_matched_in_linear_time() -> None:
    parts = ["---\n", "---\na:\n", "- \n", "## a\n", "\n\n## a", "\n\n# # ", "\n\n#", "% a\n", "#a\n", "//\n"]
    for part in [*parts, "<?a?>", "\n", "<!", "== a", "[[a", "'''", "#set a"]:
        start = process_time()
        detect_format((part * (400_000 // len(part))).encode())
        assert process_time() - start < 2, part


def test_a_mail_has_a_header() -> None:
    assert is_mail("From a@b Mon\nReceived: x\n  y\nDate: z\nSubject: s\n\n")
    assert is_mail('MIME-Version: 1.0\nContent-Type: multipart/related; boundary="x"\n\n--x\n')
    assert not is_mail("From: me\nHello,\nSubject: x\nDate: y")
    assert not is_mail("Subject: x\nTo: y\nDate: z\n\n")


def test_tags_tell_html() -> None:
    assert not is_html("<!-- a -->" * 5_000 + "x")
    assert not is_html("a < b and c > d")


def test_suffixes_are_listed_once() -> None:
    suffixes = supported_suffixes().split(", ")
    assert len(suffixes) == len(set(suffixes))
    assert {".txt", ".pdf", ".csv"} <= set(suffixes)
