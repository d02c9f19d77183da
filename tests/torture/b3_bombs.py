"""Small files of every format that exhaust a reader without limits, alone and in a folder of other documents."""

import bz2
import gzip
import io
import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Final, NamedTuple

from sumpool.documents.files import zstd
from tests.documents.formats.office_files import ODT_SPACES, W, docx, odt, word_paragraph
from tests.documents.formats.pdf_files import assemble
from tests.torture.figures import Measured, memory, start

_MEBIBYTE: Final = 2**20
ODT: Final = b"application/vnd.oasis.opendocument.text"
EPUB: Final = b"application/epub+zip"
_CONTAINER: Final = b'<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'


def zipped(
    parts: Mapping[str, bytes] | Mapping[str | zipfile.ZipInfo, bytes],
    method: int = zipfile.ZIP_DEFLATED,
    stated: int | None = None,
) -> bytes:
    """Pack parts; with `stated` the entries of the largest say that it has so many bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(name, content, method)
    size = struct.pack("<I", max(map(len, parts.values())))
    return stream.getvalue().replace(size, struct.pack("<I", stated)) if stated is not None else stream.getvalue()


def _office(name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED, stated: int | None = None) -> bytes:
    """A document of a format whose principal part is this."""
    kinds = {
        "docx": {"word/document.xml": content},
        "odt": {"mimetype": ODT, "content.xml": content},
        "epub": {"mimetype": EPUB, "META-INF/container.xml": content},
        "pptx": {"ppt/presentation.xml": content},
        "xlsx": {"xl/workbook.xml": content},
    }
    return zipped(kinds[name], method, stated)


def _large(name: str, method: int, stated: int | None = None) -> bytes:
    """A document whose principal part has 900 MiB."""
    return _office(name, b"<a>".ljust(900 * _MEBIBYTE), method, stated)


def _lol(depth: int) -> str:
    """Entities of entities."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, depth))
    return f'<!DOCTYPE x [<!ENTITY e0 "lol">{entities}]>'


def _epub(chapter: bytes, times: int = 1) -> bytes:
    """A book that names a chapter so many times."""
    spine = b'<itemref idref="c"/>' * times
    package = b'<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine>'
    return zipped(
        {"mimetype": EPUB, "META-INF/container.xml": _CONTAINER, "b.opf": package + spine + b"</spine></package>",
         "c.xhtml": chapter}
    )  # fmt: skip


def pdf_of_pages(content: bytes, filters: bytes, pages: int = 1, more: bytes = b"") -> bytes:
    """A PDF file that has a page with this content stream so many times."""
    return assemble(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[%s]/Count %d>>" % (b"3 0 R " * pages, pages),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>%s>>>>"
            % more,
            b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(content), filters, content),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


def _deflated(content: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        content = zlib.compress(content, 9)
    return content


def parquet(rows: int, length: int, dictionary: bool = True) -> bytes:
    """A table whose rows have one long text, which a dictionary holds once."""
    import pyarrow
    from pyarrow.parquet import write_table

    stream = io.BytesIO()
    table = pyarrow.table({"document": ["a" * length] * rows, "summary": ["b"] * rows})
    write_table(table, stream, compression="zstd", use_dictionary=dictionary, write_statistics=False)
    pyarrow.default_memory_pool().release_unused()
    return stream.getvalue()


def _sheet(cells: int) -> bytes:
    """A workbook whose cells are one long shared string."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, cells + 1))
    return zipped(
        {
            "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>'.encode(),
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" '
            f'Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
            f'Type="{relations}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'.encode(),
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="a" sheetId="1" '
            'r:id="r1"/></sheets></workbook>'.encode(),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'.encode(),
            "xl/sharedStrings.xml": f'<sst xmlns="{main}"><si><t>{"packet " * 20_000}</t></si></sst>'.encode(),
        }
    )


def _man(strings: int) -> bytes:
    """A manual page with strings of strings."""
    names = "abcdefghijklmnopqrstuvwxyz"[:strings]
    lines = [f".ds {name} {f'{chr(92)}*{before}' * 10}" for before, name in pairwise(names)]
    return "\n".join([".TH A 1", ".ds a lol", *lines, ".SH NAME", f"\\*{names[-1]}"]).encode()


def _rst(depth: int) -> bytes:
    """Substitutions of substitutions."""
    lines = [f".. |s{n}| replace:: {f'|s{n - 1}| ' * 10}" for n in range(1, depth)]
    return "\n".join(["Title", "=====", "", ".. |s0| replace:: lol", *lines, "", f"|s{depth - 1}|"]).encode()


def _tex(levels: int) -> bytes:
    names = "abcdefghijklmnop"[:levels]
    macros = "".join(f"\\newcommand{{\\{b}x}}{{{f'{chr(92)}{a}x' * 10}}}" for a, b in pairwise(names))
    text = f"\\newcommand{{\\ax}}{{lol}}{macros}\\begin{{document}}\\{names[-1]}x\\end{{document}}"
    return f"\\documentclass{{a}}{text}".encode()


_HTML: Final = b"<!doctype html><html><head>%s</head><body>%s</body></html>"
_MAIL: Final = b"From: a@example.org\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: %s\n%s\n\n%s\n"


def _nested_mail(depth: int) -> bytes:
    parts = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(depth))
    return b"From: a@example.org\nDate: x\nSubject: s\n" + parts + b"\nText.\n"


def _quine() -> bytes:
    """A gzip file within a gzip file, many times."""
    content = gzip.compress(bytes(64 * _MEBIBYTE), 9)
    for _ in range(30):
        content = gzip.compress(content, 9)
    return content


_SPACES: Final = b" " * (_MEBIBYTE - 2_000)

BOMBS: Final[Mapping[str, Callable[[], bytes]]] = {
    # parts that unpack to gigabytes, or state another size than they have
    **{
        f"{method}-{kind}.{kind}": partial(_large, kind, number)
        for kind in ("docx", "odt", "epub")
        for method, number in (("bzip2", zipfile.ZIP_BZIP2), ("deflate", zipfile.ZIP_DEFLATED))
    },
    **{
        f"liar-{kind}.{kind}": partial(_large, kind, zipfile.ZIP_DEFLATED, 100)
        for kind in ("docx", "odt", "epub", "pptx", "xlsx")
    },
    "lzma.docx": partial(_large, "docx", zipfile.ZIP_LZMA),
    "mimetype.odt": lambda: zipped({"mimetype": bytes(900 * _MEBIBYTE)}, zipfile.ZIP_BZIP2),
    "parts.docx": lambda: docx("", {f"word/{n}.xml": "<a/>" for n in range(5_000)}),
    "entries.docx": lambda: b"PK\x03\x04" + b"PK\x01\x02" * 200_000,
    "paragraphs.docx": lambda: docx(word_paragraph("a") * 2_000_000),
    "deep.docx": lambda: docx("<w:sdt>" * 200_000),
    "entities.docx": lambda: _office(
        "docx", f'{_lol(12)}<w:document xmlns:w="{W}"><w:body>&e11;</w:body></w:document>'.encode()
    ),
    "tables.docx": lambda: docx("<w:tbl><w:tr><w:tc>" * 5_000 + word_paragraph("a") + "</w:tc></w:tr></w:tbl>" * 5_000),
    "chunk.docx": lambda: docx(word_paragraph("a " * 30_000_000)),
    "spaces.odt": lambda: odt('<text:p>a<text:s text:c="2000000000"/>b</text:p>' * 20),
    "columns.odt": lambda: odt(
        '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2000000000">'
        "<text:p>a</text:p></table:table-cell></table:table-row></table:table>"
    ),
    "entities.odt": lambda: _office(
        "odt", f"{_lol(12)}<office:document-content {ODT_SPACES}>&e11;</office:document-content>".encode()
    ),
    "shared.xlsx": partial(_sheet, 20_000),
    # books
    "chapters.epub": lambda: _epub(_HTML % (b"", b"<p>Hosts send packets to gateways.</p>" * 10_000), 20_000),
    "markup.epub": lambda: _epub(_HTML % (b"", b"<p>a" * 20_000_000)),
    "text.epub": lambda: _epub(_HTML % (b"", b"packets over links " * 15_000_000)),
    # PDF
    "stream.pdf": lambda: pdf_of_pages(_deflated(b" " * (900 * _MEBIBYTE)), b"/FlateDecode"),
    "layers.pdf": lambda: pdf_of_pages(_deflated(bytes(900 * _MEBIBYTE), 2), b"[/FlateDecode/FlateDecode]"),
    "hex.pdf": lambda: pdf_of_pages(
        _deflated(_deflated(b"(a)Tj\n" * 9_000_000), 1).hex().encode() + b">", b"[/AHx/Fl/Fl]"
    ),
    "texts.pdf": lambda: pdf_of_pages(
        _deflated(b"BT /F1 12 Tf 72 700 Td " + b"(a)Tj\n" * 9_000_000 + b" ET"), b"/FlateDecode"
    ),
    "pages.pdf": lambda: pdf_of_pages(
        _deflated(b"BT /F1 9 Tf 72 700 Td (a) Tj ET\n" + b"q 1 0 0 1 0 0 cm Q\n" * 2_000_000), b"/FlateDecode", 200
    ),
    "kids.pdf": lambda: pdf_of_pages(_deflated(b"BT /F1 9 Tf 72 700 Td (Hosts send.) Tj ET"), b"/FlateDecode", 150_000),
    "arrays.pdf": lambda: pdf_of_pages(b"[" * 900_000, b"[]"),
    # rows
    "dictionary.parquet": partial(parquet, 20, 30 * _MEBIBYTE),
    "row.parquet": partial(parquet, 1, 400 * _MEBIBYTE, False),
    "rows.jsonl.gz": lambda: gzip.compress(b'{"text": "' + b"a" * (900 * _MEBIBYTE) + b'"}', 9),
    "deep.jsonl": lambda: b'{"text": ' + b"[" * 900_000,
    "field.csv.gz": lambda: gzip.compress(b"id,text\n1," + b"a" * (900 * _MEBIBYTE), 9),
    "columns.csv.gz": lambda: gzip.compress(b"text\n" + b"packets over links " * (_MEBIBYTE), 9),
    "commas.csv": lambda: b"text\n" + b"," * (_MEBIBYTE - 100),
    # compressed
    "a.txt.gz": lambda: gzip.compress(bytes(900 * _MEBIBYTE), 9),
    "a.txt.zst": lambda: zstd.compress(bytes(900 * _MEBIBYTE)),
    "words.txt.gz": lambda: gzip.compress(b"packets over links " * (10 * _MEBIBYTE), 9),
    "lines.md.gz": lambda: gzip.compress(b"# a\n\n" * (20 * _MEBIBYTE), 9),
    "page.html.gz": lambda: gzip.compress(_HTML % (b"", b"<p>a" * (20 * _MEBIBYTE)), 9),
    "bzip2.jsonl.gz": lambda: bz2.compress(bytes(900 * _MEBIBYTE)),
    "xz.jsonl.gz": lambda: lzma.compress(bytes(900 * _MEBIBYTE)),
    "layers.gz": _quine,
    # texts
    "strings.man": partial(_man, 20),
    "recursive.man": lambda: b".TH A 1\n.ds a \\*a\\*a\n.SH NAME\n\\*a\n",
    "conditions.man": lambda: b".TH A 1\n" + b".if n \\{\n" * 80_000,
    "substitutions.rst": partial(_rst, 12),
    "replacements.rst": lambda: b".. |a| replace:: " + b"lol " * 20_000 + b"\n\n" + b"|a| " * 25_000,
    "deep.rst": lambda: b"\n".join(b" " * n + b"a\n" for n in range(1_200)),
    "links.rst": lambda: b"`a <b>`_ " * 100_000,
    "macros.tex": partial(_tex, 15),
    "recursive.tex": lambda: rb"\documentclass{a}\newcommand{\a}{\a\a}\begin{document}\a",
    "groups.rtf": lambda: rb"{\rtf1 " + b"{" * 500_000,
    "lists.wiki": lambda: b"".join(b"*" * depth + b" a\n" for depth in range(1, 1_000)),
    "tables.wiki": lambda: b"{|\n|\n" * 100_000,
    "sections.jats": lambda: b"<article><front/>" + b"<sec>" * 150_000,
    "entities.jats": lambda: f"{_lol(12)}<article><front/><body><p>&e11;</p></body></article>".encode(),
    "cells.ipynb": lambda: b'{"nbformat": 4, "cells": ' + b"[" * 900_000,
    "quotes.org": lambda: b"* a\n#+begin_quote\n" * 50_000,
    "calls.typ": lambda: b"#let f(x) = f(f(x))\n#f(1)\n",
    # pages
    "styles.html": lambda: _HTML % (b"<style>" + b".a{b:c;" * 150_000 + b"</style>", b"<p>a</p>"),
    "font.html": lambda: _HTML % (b"<style>@font-face{src:url(data:x," + b"A" * 900_000 + b")}</style>", b"<p>a</p>"),
    "attributes.html": lambda: _HTML % (b"", b"<p " + b" ".join(b"a%d=b" % n for n in range(100_000)) + b">a</p>"),
    "deep.html": lambda: _HTML % (b"", b"<div>" * 200_000 + b"a"),
    "tables.html": lambda: _HTML % (b"", b"<table><tr><td>" * 60_000 + b"a"),
    "links.html": lambda: _HTML % (b"", b"<a href=b>a</a>" * 70_000),
    "article.html": lambda: _HTML % (b'<meta property="og:type" content="article">', b"<p>a</p>" * 9_900),
    "entities.xhtml": lambda: (
        _lol(12) + '<html xmlns="http://www.w3.org/1999/xhtml"><body>&e11;</body></html>'
    ).encode(),
    # mails
    "words.eml": lambda: _MAIL % (b"=?utf-8?q?a?= " * 70_000, b"", b"Text."),
    "folded.eml": lambda: _MAIL % (b"=?utf-8?b?YQ==?=\n " * 45_000, b"", b"Text."),
    "charset.eml": lambda: (
        _MAIL % (b"s", b"Content-Type: text/plain; charset=punycode", b"a" * 500_000 + b"-" + b"b" * 500_000)
    ),
    "parts.eml": partial(_nested_mail, 20_000),
    "boundaries.eml": lambda: _MAIL % (b"s", b'Content-Type: multipart/mixed; boundary="b"', b"--b\n\n" * 200_000),
    "quotes.eml": lambda: _MAIL % (b"s", b"", b"> " * 500_000),
    "mails.mbox": lambda: b"From a\nFrom: a\nReferences: " + b"<a@b> " * 150_000 + b"\n\nText.\n",
    # Markdown, plain text, subtitles
    "emphasis.md": lambda: b"*a **" * 200_000,
    "brackets.md": lambda: b"[" * 1_000_000,
    "quotes.md": lambda: b"> " * 500_000 + b"a",
    "table.md": lambda: b"|a" * 1_000 + b"|\n" + b"|-" * 1_000 + b"|\n" + b"|\n" * 400_000,
    "spaces.txt": lambda: b"a" + _SPACES + b"b",
    "nested.txt": lambda: b"(" * 500_000 + b")" * 500_000,
    "times.srt": lambda: b"1\n00:00:00,000 --> 00:00:01,000\n" + b"<" * 900_000,
}
"""Makers of the files by name."""


ID: Final = "B3"
FIGURE: Final = (
    "files of at most 1 MB that exhaust a reader: a summary or a reason within 10 s of processor time and 1 GB; "
    "a folder of 100 with 20 of them: 80 summaries"
)
NIGHT: Final = len(BOMBS)
QUICK: Final = 3
_SECONDS = 10.0
_MEGABYTES = 1074
_FOLDER, _FOLDER_BOMBS = 100, 20


class _Answer(NamedTuple):
    """What a command took and wrote: processor time and memory with that of its processes, and its rows."""

    seconds: float
    megabytes: float
    status: int
    rows: list[dict[str, str]]


def measure(count: int, folder: Path) -> Measured:
    """Summarise `count` of the files, and a folder with twenty if there are as many."""
    faults, refused, seconds, megabytes = [], [], 0.0, 0.0
    for name, make in [*BOMBS.items()][::-1][:count]:
        path = folder / name
        path.write_bytes(make())
        answer = _summarize(path)
        seconds, megabytes = max(seconds, answer.seconds), max(megabytes, answer.megabytes)
        is_answered = answer.status == 3 or (answer.status == 0 and any(row.get("summary") for row in answer.rows))
        if not is_answered or answer.seconds > _SECONDS or answer.megabytes > _MEGABYTES:
            faults.append(f"{name}: {answer.status}, {answer.seconds:.1f} s, {answer.megabytes:.0f} MB")
        if answer.status == 3 and len(answer.rows) == 1 and ".csv" not in name and name != "layers.gz":
            refused.append(path)  # which folders read, other than tables and packed files without a suffix
    if len(refused) >= _FOLDER_BOMBS:
        together = folder / "together"
        together.mkdir()
        for number, path in enumerate(refused[:_FOLDER_BOMBS]):
            path.rename(together / f"{number:02}{path.name}")
        for number in range(_FOLDER - _FOLDER_BOMBS):
            text = f"Gateway {number} forwards packets between networks, and drops those that are too long.\n"
            (together / f"{number % _FOLDER_BOMBS:02}z{number}.txt").write_text(text)
        rows = _summarize(together).rows
        summaries = sum(bool(row["summary"]) for row in rows)
        if (len(rows), summaries) != (_FOLDER, _FOLDER - _FOLDER_BOMBS):
            faults.append(f"folder: {len(rows)} rows, {summaries} summaries")
    text = f"{count - len(faults)} of {count}; slowest {seconds:.1f} s, most {megabytes:.0f} MB"
    return Measured.by_faults(text, faults, count)


def _summarize(path: Path) -> _Answer:
    out, peak = path.parent / "out.jsonl", 0.0
    with out.open("wb") as stream:
        process = start("-m", "sumpool", "summarize", "--fast", "--json", str(path), stdout=stream)
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak = max(peak, memory(process.pid))
            sleep(0.02)
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return _Answer(usage.ru_utime + usage.ru_stime, peak, process.returncode, rows)
