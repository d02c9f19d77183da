"""Formats that pandoc reads, and its limits."""

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import process_time

import pytest

from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument, TextBlock
from sumpool.documents.formats import FORMATS, _pandoc, load_format
from sumpool.documents.formats._pandoc import simplify_man, simplify_mdoc
from sumpool.documents.worker import WORKERS
from sumpool.errors import DataError
from tests.documents.formats.office_files import RELATIONS, archive, docx, word_paragraph, xlsx

SAMPLES = Path(__file__).parent / "samples"
NESTED: list[tuple[str, Callable[[], bytes]]] = [
    ("mediawiki", lambda: b"".join(b"*" * depth + b" a\n" for depth in range(1, 400))),
    ("latex", lambda: rb"\begin{itemize}\item " * 3_000),
    ("latex", lambda: rb"\newcommand{\a}{\a\a}\a" + b"\n"),
    ("org", lambda: b"".join(b"  " * depth + b"- a\n" for depth in range(400))),
    ("typst", lambda: b"#let f(n) = f(n + 1)\n#f(1)\n"),
    ("jats", lambda: b"<article>" + b"<sec>" * 20_000),
    ("rtf", lambda: rb"{\rtf1 " + b"{" * 200_000),
    ("ipynb", lambda: b'{"nbformat": 4, "cells": ' + b"[" * 100_000),
]


def blocks(name: str, content: bytes) -> tuple[TextBlock, ...]:
    return load_format(name).parse(content, DEFAULT_OPTIONS).blocks


def test_missing_pandoc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pandoc, "find_spec", lambda _: None)
    with pytest.raises(
        DataError, match=r"Org files need pandoc, which is not installed: pip install 'sumpool\[pandoc\]'"
    ):
        blocks("org", b"x")


def test_sheets_number_the_pages() -> None:
    content = xlsx({"Ports": [["Port", "Ships"], ["Kiel", "41"]], "Sheet2": [["a", "1.50"]]})
    assert [(block.kind, block.text, block.page) for block in blocks("xlsx", content)] == [
        ("heading", "Ports", 1),
        ("table_row", "Port | Ships", 1),
        ("table_row", "Kiel | 41", 1),
        ("table_row", "a | 1.50", 2),
    ]


def test_cells_that_are_dates_have_their_date() -> None:
    content = xlsx({"Ports": [["45351"]]})
    with zipfile.ZipFile(io.BytesIO(content)) as workbook:
        parts = {name: workbook.read(name).decode() for name in workbook.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    cells = [
        ("14", "45351"),
        ("22", "45351.5"),
        ("165", "0.25"),
        ("9", "45351"),
        ("164", "45351"),
        ("0", "0.14000000000000001"),
    ]
    row = "".join(
        f'<c r="{chr(65 + style)}1" s="{style}"><v>{number}</v></c>' for style, (_, number) in enumerate(cells)
    )
    parts[sheet] = re.sub(r"<row.*</row>", f'<row r="1">{row}</row>', parts[sheet])
    parts["xl/styles.xml"] = (
        '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts>'
        '<numFmt numFmtId="164" formatCode="0 &quot;days&quot;"/><numFmt numFmtId="165" formatCode="hh:mm"/></numFmts>'
        "<cellXfs>" + "".join(f'<xf numFmtId="{number}"/>' for number, _ in cells) + "</cellXfs></styleSheet>"
    )
    expected = "2024-02-29 | 2024-02-29 12:00:00 | 06:00:00 | 45351 | 45351 | 0.14"
    assert [block.text for block in blocks("xlsx", archive(parts))] == ["Ports", expected]
    book = parts["xl/workbook.xml"].replace("<sheets>", '<workbookPr date1904="1"/><sheets>')
    (_, first) = blocks("xlsx", archive(parts | {"xl/workbook.xml": book}))
    assert first.text.startswith("2028-03-01 | ")


def test_line_breaks_of_cells_are_spaces() -> None:
    lines = "Ferry_x000D_\nclosed\n\nuntil_x000a_May"
    expected = ["Ports", "Ferry closed until May | a_b"]
    assert [block.text for block in blocks("xlsx", xlsx({"Ports": [[lines, "a_b"]]}))] == expected
    with zipfile.ZipFile(io.BytesIO(xlsx({"Ports": [[""]]}))) as workbook:
        parts = {name: workbook.read(name).decode() for name in workbook.namelist()}
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cells = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    relations = "xl/_rels/workbook.xml.rels"
    shared = f'<Relationship Id="t1" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    items = f"<si><t>{lines}</t></si><si><r><t>a_</t></r><r><t>b</t></r><rPh><t>sound</t></rPh></si>"
    parts |= {
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{items}</sst>',
        relations: parts[relations].replace("</Relationships>", shared),
    }
    assert [block.text for block in blocks("xlsx", archive(parts))] == expected


def test_notes_of_a_speaker_are_on_their_slide() -> None:
    with zipfile.ZipFile(SAMPLES / "pptx.pptx") as slides:
        parts = {name: slides.read(name).decode() for name in slides.namelist() if name.endswith((".xml", ".rels"))}
    relations = "ppt/slides/_rels/slide1.xml.rels"
    note = '<Relationship Id="n1" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>'
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="9" name=""/><p:cNvSpPr/><p:nvPr><p:ph type="{}"/></p:nvPr></p:nvSpPr><p:spPr/>'
    )
    text = "<p:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    shapes = [("sldNum", "17"), ("body", "Wait for questions about the pilot.")]
    parts[relations] = parts[relations].replace("</Relationships>", note)
    parts["ppt/notesSlides/notesSlide1.xml"] = (
        '<p:notes xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree>'
        + "".join(shape.format(kind) + text.format(words) for kind, words in shapes)
        + "</p:spTree></p:cSld></p:notes>"
    )
    first = [block for block in blocks("pptx", archive(parts)) if block.page == 1]
    assert (first[-1].kind, first[-1].text) == ("paragraph", "Wait for questions about the pilot.")


def test_prefixes_of_namespaces_are_free() -> None:
    with zipfile.ZipFile(io.BytesIO(docx(word_paragraph("Ships wait.", style="heading1")))) as document:
        parts = {name: document.read(name).decode() for name in document.namelist()}
    renamed = {name: re.sub(r"(?<=[</ :])w(?=[:=])", "ns0", text) for name, text in parts.items()}
    assert blocks("docx", archive(renamed)) == blocks("docx", archive(parts)) != ()


def test_other_files_are_not_read() -> None:
    for name, text in [
        ("latex", r"\documentclass{a}\begin{document}\input{/etc/passwd}Text.\end{document}"),
        ("org", "#+INCLUDE: /etc/passwd\nText.\n"),
        ("typst", '#include "/etc/passwd"\nText.\n'),
        ("mediawiki", "{{/etc/passwd}}\nText.\n"),
        ("man", ".TH A 1\n.so /etc/passwd\nText.\n"),
    ]:
        try:
            text = " ".join(block.text for block in blocks(name, text.encode()))
        except ValueError as error:
            text = str(error)
        assert "root:" not in text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), NESTED)
def test_hostile_texts_are_read_or_refused(name: str, content: Callable[[], bytes]) -> None:
    suffix = next(suffix for suffix, format_name in FORMATS.items() if format_name == name)
    (document,) = WORKERS.read(name, name, suffix, content(), DEFAULT_OPTIONS)
    assert document.text or document.error.startswith(f"{name} must ")


def test_damage_has_one_line() -> None:
    for name in ("docx", "odt", "pptx", "xlsx"):
        with pytest.raises(ValueError, match=r"^must [^\n]*$"):
            blocks(name, archive({"a.xml": "<a/>"}))


def test_the_package_does_not_import_docutils_or_look_for_pandoc() -> None:
    script = (
        "import sys; from sumpool.documents.read import read_documents; import sumpool.documents.detection;"
        "from sumpool.documents.formats import load_format; load_format('markdown');"
        "print([name for name in ('docutils', 'pypandoc', 'sumpool.documents.formats._pandoc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def parse(text: str) -> ParsedDocument:
    return load_format(detect_format(text.encode())).parse(text.encode(), DEFAULT_OPTIONS)


def page_blocks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(text).blocks]


def test_man_page_has_its_structure() -> None:
    text = r"""
.\" A comment
.TH LS 1 2026 "Sample" "Manual"
.SH NAME
ls \- list files
.SH
DESCRIPTION
List
.I files
of \fBfolders\fP, see
.BR stat (2),
.UR https://example.com
.UE .
And
.UR https://example.com
this page
.UE .
.PP
.TP
.BR \-a ", " \-\-all
List hidden ones.
.TP
.B *
A bullet.
.IP \(bu 2
Another.
.IP word
A term.
.TS
tab(@);
l l.
Name@Size
_
ls@T{
10
.B kB
T}
.TE
.EX
ls \-a
  more
.EE
.SS "More words"
.EQ
x over y
.EN
Text\c
goes on\(emhere.
"""
    assert page_blocks(text) == [
        ("heading", 1, "NAME"),
        ("paragraph", 0, "ls - list files"),
        ("heading", 1, "DESCRIPTION"),
        ("paragraph", 0, "List files of folders, see stat(2), https://example.com. And this page."),
        ("list_item", 1, "-a, --all"),
        ("paragraph", 0, "List hidden ones."),
        ("list_item", 1, "A bullet."),
        ("list_item", 1, "Another."),
        ("list_item", 1, "word"),
        ("paragraph", 0, "A term."),
        ("table_row", 0, "Name Size"),
        ("table_row", 0, "ls 10 kB"),
        ("code", 0, "ls -a\n  more"),
        ("heading", 2, "More words"),
        ("paragraph", 0, "Textgoes on\u2014here."),
    ]


def test_mdoc_page_has_its_structure() -> None:
    text = r"""
.Dd May 1, 2026
.Dt RWHO 1
.Os
.Sh NAME
.Nm rwho
.Nd who is logged in
.Sh SYNOPSIS
.In stdio.h
.Nm
.Op Fl a
.Op Fl f Ar file
.Ar name ...
.Sh DESCRIPTION
The
.Nm
command is like
.Xr who 1 ,
but for
.Dq all machines .
Use
.Fn open path flags ,
.Pf un Em known
.Ns ly .
.Bl -tag -width x
.It Fl a
All users.
.El
.Bl -bullet
.It
A point.
.El
.Bd -literal
rwho -a
.Ed
.Ex -std
"""
    assert page_blocks(text) == [
        ("heading", 1, "NAME"),
        ("paragraph", 0, "rwho \u2014 who is logged in"),
        ("heading", 1, "SYNOPSIS"),
        ("paragraph", 0, "#include <stdio.h>"),
        ("paragraph", 0, "rwho [-a] [-f file] name ..."),
        ("heading", 1, "DESCRIPTION"),
        (
            "paragraph",
            0,
            "The rwho command is like who(1), but for \u201call machines\u201d. Use open(path, flags), unknownly.",
        ),
        ("list_item", 1, "-a"),
        ("paragraph", 0, "All users."),
        ("list_item", 1, "A point."),
        ("code", 0, "rwho -a"),
        ("paragraph", 0, "The rwho utility exits 0 on success, and >0 if an error occurs."),
    ]
    assert parse(text).title == "rwho \u2014 who is logged in"


def test_conditions_are_those_of_a_terminal() -> None:
    text = r""".TH A 1
.de XX
Not text.
..
.ds Word gateways
.if t Not printed.
.ie n \{\
Shown \*[Word]
.if t \{\
not
.\}
and
.\}
.el Not printed.
.ie t \{\
not
.\}
.el this.
.ig
not
..
"""
    assert page_blocks(text) == [("paragraph", 0, "Shown gateways and this.")]


def test_escapes_are_reduced_to_characters() -> None:
    text = r"\fB\-x\fR \(co \[u00E9]\[:a] \s-1A\s0 a\e b\&c\(lqd\(rq \*[w]"
    expected = "-x \u00a9 \u00e9\u00e4 A a\\ bc\u201cd\u201d text"
    assert page_blocks(f".TH A 1\n.ds w text\n{text}\n") == [("paragraph", 0, expected)]


def test_header_alone_gives_the_title() -> None:
    assert parse(".TH LS 1\nText.").title == "LS"


def test_links_and_conditions_keep_their_text() -> None:
    text = """.TH A 1
Written by
.MTO "joe@example.com" "Joe Hess" "."
.UR jane@example.com
.UE .
.if !'po4a'hide' .B Shown
.if 'po4a'hide' Hidden
.ie t \\{\\
.if n \\{ never \\}
.\\}
.el \\{\\
.if n \\{\\
and this.
.\\}
.\\}
"""
    expected = "Written by Joe Hess. jane@example.com. Shown and this."
    assert page_blocks(text) == [("paragraph", 0, expected)]


def test_tables_have_a_row_for_each_line() -> None:
    text = """.TH A 1
.TS
allbox tab(:);
l l.
IP:Version
_
Ports:T{
.BR tcp (7)
and others
T}
.T&
l s.
Both
.TE
Behind.
"""
    assert page_blocks(text) == [
        ("table_row", 0, "IP Version"),
        ("table_row", 0, "Ports tcp (7) and others"),
        ("table_row", 0, "Both"),
        ("paragraph", 0, "Behind."),
    ]


def test_mdoc_pages_that_pandoc_refuses_are_read() -> None:
    text = r""".Dd May 1, 2026
.Os "A system"
.Dt PAGE 1
.de NEW
.if "\$1"" none
..
.Sh NAME
.Nm page
.Nd read a
.Vt page
with marks
.Sh DESCRIPTION
.js is a word
.NEW
Given twice
.Xo ( Fl CC ) Xc
and
.Oo Ar file Oc Oo Ar other
.Oc
end.
.Bl -tag -width x
.It Ic set Xo
.Op Fl a
.Ar name
.Xc
Sets it.
.El
"""
    assert [text for _, _, text in page_blocks(text)] == [
        "NAME",
        "page \u2014 read a page with marks",
        "DESCRIPTION",
        "Given twice ( -CC) and [ file ] [ other ] end.",
        "set [-a name]",
        "Sets it.",
    ]


def test_a_description_is_read_below_a_heading_in_another_language() -> None:
    page = [
        ".Dd May 1",
        ".Dt A 1",
        ".Os",
        ".Sh BEZEICHNUNG",
        ".Nm biff",
        '.Nd "wenn E-Mail ankommt"',
        ".Sh ZUSATZ",
        "Text.",
    ]
    assert "\u2014 wenn E-Mail ankommt" in page_blocks("\n".join(page))[1][2]


def test_lines_without_an_end_are_read_in_linear_time() -> None:
    for line in (".TS", ".ie n \\{", ".Nd a", ".It Xo", "T{", ".if n .if n", ".ig", ".UR a", "\\"):
        for header in (".TH A 1", ".Dd May 1, 2026"):
            start = process_time()
            simplify = simplify_mdoc if header.startswith(".Dd") else simplify_man
            with suppress(RecursionError):  # of conditions in each other, which is the reason of the document
                simplify("\n".join([header, *[line] * 40_000]))
            assert process_time() - start < 4, line


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (".Bl -bullet\n.It\nOne port.\n.Pp\nShips wait.\n", "One port. Ships wait."),
        ("Before.\n.Ao Bo inside\n.Ac Bc after\n", "Before."),
        (".Bd -ragged\nShips wait.\n", "Ships wait."),
        (".Fl v Ar x\n.Ef\nShips wait.\n", "Ships wait."),
    ],
)
def test_pages_that_pandoc_refuses_are_read_without_the_macros(body: str, words: str) -> None:
    head = ".Dd May 1, 2026\n.Dt PORT 1\n.Os\n.Sh NAME\n.Nm port\n.Nd harbours\n"
    parsed = parse(f"{head}.Sh DESCRIPTION\n{body}.Sh BUGS\nNone known.\n")
    assert parsed.title == "port — harbours"
    read = " ".join(block.text for block in parsed.blocks)
    assert all(word in read for word in (*words.split(), "None known."))
    assert not re.search(r"\.(?:B|E|A)[a-z]\b", read)
