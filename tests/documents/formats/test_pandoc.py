"""Formats that pandoc reads, and its limits."""

import io
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from time import process_time

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats import _pandoc
from sumpool.documents.formats._pandoc import simplify_man, simplify_mdoc
from sumpool.documents.worker import WORKERS
from sumpool.errors import DataError
from tests.documents.formats.conftest import outline, read, texts
from tests.documents.formats.office_files import SHEET, archive, docx, relationship, word_paragraph, worksheet, xlsx
from tests.torture.b3_bombs import BOMBS

SAMPLES = Path(__file__).parent / "samples"


def parts_of(content: bytes) -> dict[str, str]:
    """Texts of the XML parts of an Office file by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name).decode() for name in file.namelist() if name.endswith((".xml", ".rels"))}


def test_missing_pandoc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pandoc, "find_spec", lambda _: None)
    message = r"Org files need pandoc, which is not installed: pip install 'sumpool\[pandoc\]'"
    with pytest.raises(DataError, match=message):
        read("org", "x")


def test_sheets_number_the_pages() -> None:
    content = xlsx({"Ports": ["Port | Ships", "Kiel | 41"], "Sheet2": ["a | 1.50"]})
    assert outline("xlsx", content) == ["h2 Ports", "row Port | Ships", "row Kiel | 41", "row a | 1.50"]
    assert [block.page for block in read("xlsx", content).blocks] == [1, 1, 1, 2]


def test_cells_that_are_dates_have_their_date() -> None:
    formats = {14: "45351", 22: "45351.5", 165: "0.25", 9: "45351", 164: "45351", 0: "0.14000000000000001"}
    cells = (
        f'<c r="{column}1" s="{style}"><v>{number}</v></c>'
        for style, (column, number) in enumerate(zip("ABCDEF", formats.values(), strict=True))
    )
    styles = (
        f'<styleSheet xmlns="{SHEET}"><numFmts>'
        '<numFmt numFmtId="164" formatCode="0 &quot;days&quot;"/><numFmt numFmtId="165" formatCode="hh:mm"/></numFmts>'
        "<cellXfs>" + "".join(f'<xf numFmtId="{number}"/>' for number in formats) + "</cellXfs></styleSheet>"
    )
    parts = {"xl/worksheets/sheet1.xml": worksheet(["".join(cells)]), "xl/styles.xml": styles}
    content = xlsx({"Ports": []}, parts)
    expected = "2024-02-29 | 2024-02-29 12:00:00 | 06:00:00 | 45351 | 45351 | 0.14"
    assert texts("xlsx", content) == ["Ports", expected]
    book = parts_of(content)["xl/workbook.xml"].replace("<sheets>", '<workbookPr date1904="1"/><sheets>')
    assert texts("xlsx", xlsx({"Ports": []}, {**parts, "xl/workbook.xml": book}))[1].startswith("2028-03-01 | ")


def test_line_breaks_of_cells_are_spaces() -> None:
    lines = "Ferry_x000D_\nclosed\n\nuntil_x000a_May"
    shared = f"<si><t>{lines}</t></si><si><r><t>a_</t></r><r><t>b</t></r><rPh><t>sound</t></rPh></si>"
    parts = {
        "xl/worksheets/sheet1.xml": worksheet(['<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>']),
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{shared}</sst>',
    }
    relation = relationship("t1", "sharedStrings", "sharedStrings.xml")
    for content in (xlsx({"Ports": [f"{lines} | a_b"]}), xlsx({"Ports": []}, parts, relation)):
        assert texts("xlsx", content) == ["Ports", "Ferry closed until May | a_b"]


def test_notes_of_a_speaker_are_on_their_slide() -> None:
    parts = parts_of((SAMPLES / "pptx.pptx").read_bytes())
    relations = "ppt/slides/_rels/slide1.xml.rels"
    note = '<Relationship Id="n1" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>'
    parts[relations] = parts[relations].replace("</Relationships>", note)
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="9" name=""/><p:cNvSpPr/><p:nvPr><p:ph type="{}"/></p:nvPr></p:nvSpPr><p:spPr/>'
        "<p:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    parts["ppt/notesSlides/notesSlide1.xml"] = (
        '<p:notes xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree>'
        f"{shape.format('sldNum', '17')}{shape.format('body', 'Wait for questions.')}</p:spTree></p:cSld></p:notes>"
    )
    first = [block for block in read("pptx", archive(parts)).blocks if block.page == 1]
    assert (first[-1].kind, first[-1].text) == ("paragraph", "Wait for questions.")


def test_prefixes_of_namespaces_are_free() -> None:
    content = docx(word_paragraph("Ships wait.", style="heading1"))
    renamed = {name: re.sub(r"(?<=[</ :])w(?=[:=])", "ns0", text) for name, text in parts_of(content).items()}
    assert outline("docx", archive(renamed)) == outline("docx", content) == ["h1 Ships wait."]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".wiki", ".tex", ".rtf", ".jats", ".ipynb", ".org", ".typ"])
def test_hostile_texts_are_read_or_refused(suffix: str) -> None:
    for name in (name for name in BOMBS if name.endswith(suffix)):
        (document,) = WORKERS.read(name, name, suffix, BOMBS[name](), DEFAULT_OPTIONS)
        assert document.text or document.error.startswith(f"{name} must ")


@pytest.mark.parametrize("name", ["docx", "odt", "pptx", "xlsx"])
def test_damage_has_one_line(name: str) -> None:
    with pytest.raises(ValueError, match=r"^must [^\n]*$"):
        read(name, archive({"a.xml": "<a/>"}))


MAN = [
    (".SH NAME\nls \\- list files", ["h1 NAME", "p ls - list files"]),
    (
        ".SH\nDESCRIPTION\nList\n.I files\nof \\fBfolders\\fP, see\n.BR stat (2).",
        ["h1 DESCRIPTION", "p List files of folders, see stat(2)."],
    ),
    (".UR https://example.com\n.UE .", ["p https://example.com."]),
    ("And\n.UR https://example.com\nthis page\n.UE .", ["p And this page."]),
    ('.MTO "joe@example.com" "Joe Hess" "."', ["p Joe Hess."]),
    ('.TP\n.BR \\-a ", " \\-\\-all\nList hidden ones.', ["li1 -a, --all", "p List hidden ones."]),
    (".TP\n.B *\nA bullet.", ["li1 A bullet."]),
    (".IP \\(bu 2\nAnother.", ["li1 Another."]),
    (".IP word\nA term.", ["li1 word", "p A term."]),
    (".EX\nls \\-a\n  more\n.EE", ["code ls -a\n  more"]),
    ('.SS "More words"\n.EQ\nx over y\n.EN\nText\\c\ngoes on\\(emhere.', ["h2 More words", "p Textgoes on\u2014here."]),
    (
        ".TS\nallbox tab(:);\nl l.\nIP:Version\n_\nPorts:T{\n.BR tcp (7)\nand others\nT}\n.T&\nl s.\nBoth\n.TE",
        ["row IP Version", "row Ports tcp (7) and others", "row Both"],
    ),
    # conditions are those of a terminal
    (".if t No.\n.ie n \\{\\\nShown\n.if t \\{\\\nnot\n.\\}\nand\n.\\}\n.el No.\nread.", ["p Shown and read."]),
    (".ie t \\{\\\n.if n \\{ never \\}\n.\\}\n.el \\{\\\n.if n \\{\\\nThis.\n.\\}\n.\\}", ["p This."]),
    (".if 'po4a'hide' Hidden\n.if !'po4a'hide' .B Shown", ["p Shown"]),
    (".ig\nnot\n..\n.de XX\nNot text.\n..\n.ds w text\nA \\*[w].", ["p A text."]),
    (r"\fB\-x\fR \(co \[u00E9]\[:a] \s-1A\s0 a\e b\&c\(lqd\(rq", ["p -x \u00a9 \u00e9\u00e4 A a\\ bc\u201cd\u201d"]),
]
MDOC = [
    (".In stdio.h", ["p #include <stdio.h>"]),
    (".Nm\n.Op Fl a\n.Op Fl f Ar file\n.Ar name ...", ["p rwho [-a] [-f file] name ..."]),
    (
        "The\n.Nm\ncommand is like\n.Xr who 1 ,\nbut for\n.Dq all machines .",
        ["p The rwho command is like who(1), but for \u201call machines\u201d."],
    ),
    ("Use\n.Fn open path flags ,\n.Pf un Em known\n.Ns ly .", ["p Use open(path, flags), unknownly."]),
    (".Bl -tag -width x\n.It Fl a\nAll users.\n.El", ["li1 -a", "p All users."]),
    (".Bl -bullet\n.It\nA point.\n.El", ["li1 A point."]),
    (".Bd -literal\nrwho -a\n.Ed", ["code rwho -a"]),
    (".Ex -std", ["p The rwho utility exits 0 on success, and >0 if an error occurs."]),
]
REFUSED = [
    (".js is a word\n.NEW\nGiven twice\n.Xo ( Fl CC ) Xc", ["p Given twice ( -CC)"]),
    (".Oo Ar file Oc Oo Ar other\n.Oc\nend.", ["p [ file ] [ other ] end."]),
    (".Bl -tag -width x\n.It Ic set Xo\n.Op Fl a\n.Ar name\n.Xc\nSets it.\n.El", ["li1 set [-a name]", "p Sets it."]),
]
"""Macros that pandoc would not read."""


def test_man_page_has_its_structure() -> None:
    page = "\n.PP\n".join([".TH LS 1", *(text for text, _ in MAN)])
    assert outline("man", page) == [line for _, lines in MAN for line in lines]
    assert read("man", ".TH LS 1\nText.").title == "LS"


@pytest.mark.parametrize(
    ("head", "name", "macros"),
    [
        (".Dd May 1, 2026\n.Dt RWHO 1\n.Os\n.Sh NAME\n.Nm rwho\n.Nd who is logged in", "who is logged in", MDOC),
        (
            '.Dd May 1, 2026\n.Os "A system"\n.Dt RWHO 1\n.de NEW\n.if "\\$1"" none\n..\n'
            ".Sh NAME\n.Nm rwho\n.Nd read a\n.Vt page\nwith marks",
            "read a page with marks",
            REFUSED,
        ),
        ('.Dd May 1\n.Dt A 1\n.Os\n.Sh BEZEICHNUNG\n.Nm rwho\n.Nd "wenn E-Mail ankommt"', "wenn E-Mail ankommt", []),
    ],
)
def test_mdoc_page_has_its_structure(head: str, name: str, macros: list[tuple[str, list[str]]]) -> None:
    page = "\n.Pp\n".join([f"{head}\n.Sh DESCRIPTION\nText.", *(text for text, _ in macros)])
    found = outline("mdoc", page)
    assert found[1:4] == [f"p rwho \u2014 {name}", "h1 DESCRIPTION", "p Text."]
    assert found[4:] == [line for _, lines in macros for line in lines]
    assert read("mdoc", page).title == f"rwho \u2014 {name}"


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
    parsed = read("mdoc", f"{head}.Sh DESCRIPTION\n{body}.Sh BUGS\nNone known.\n")
    assert parsed.title == "port — harbours"
    text = " ".join(block.text for block in parsed.blocks)
    assert all(word in text for word in (*words.split(), "None known."))
    assert not re.search(r"\.(?:B|E|A)[a-z]\b", text)
