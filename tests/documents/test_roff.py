import re
from contextlib import suppress
from time import process_time

import pytest

from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument
from sumpool.documents.formats import load_format
from sumpool.documents.formats._pandoc import simplify_man, simplify_mdoc


def parse(text: str) -> ParsedDocument:
    return load_format(detect_format(text.encode())).parse(text.encode(), DEFAULT_OPTIONS)


def blocks(text: str) -> list[tuple[str, int, str]]:
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
    assert blocks(text) == [
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
    assert blocks(text) == [
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
    assert blocks(text) == [("paragraph", 0, "Shown gateways and this.")]


def test_escapes_are_reduced_to_characters() -> None:
    text = r"\fB\-x\fR \(co \[u00E9]\[:a] \s-1A\s0 a\e b\&c\(lqd\(rq \*[w]"
    expected = "-x \u00a9 \u00e9\u00e4 A a\\ bc\u201cd\u201d text"
    assert blocks(f".TH A 1\n.ds w text\n{text}\n") == [("paragraph", 0, expected)]


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
    assert blocks(text) == [("paragraph", 0, expected)]


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
    assert blocks(text) == [
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
    assert [text for _, _, text in blocks(text)] == [
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
    assert "\u2014 wenn E-Mail ankommt" in blocks("\n".join(page))[1][2]


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
