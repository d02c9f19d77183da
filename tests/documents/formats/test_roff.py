from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.roff import parse
from sumpool.documents.roff.text import arguments, plain_text


def blocks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks]


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
        ("paragraph", 0, "rwho - who is logged in"),
        ("heading", 1, "SYNOPSIS"),
        ("paragraph", 0, "#include <stdio.h> rwho [-a] [-f file] name ..."),
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
    assert parse(text.encode(), DEFAULT_OPTIONS).title == "rwho - who is logged in"


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
    text = r"\fB\-x\fR \(co \[u00E9]\[:a] \s-1A\s0 a\e\~b\&c\h'1'\*(lqd\*(rq \N'65' \o'ab' \(zz\%e"
    strings = {"lq": "\u201c", "rq": "\u201d"}
    assert plain_text(text, strings) == "-x \u00a9 \u00e9\u00e4 A a\\ bc\u201cd\u201d A a e"
    assert plain_text(r"\*a", {"a": r"\*a"}) == ""


def test_quoted_arguments_are_one() -> None:
    assert arguments('a "b c" "d ""e""" \\ f "g') == ["a", "b c", 'd "e"', "\\ f", "g"]


def test_header_alone_gives_the_title() -> None:
    parsed = parse(b".TH LS 1\nText.", DEFAULT_OPTIONS)
    assert (parsed.title, [block.line for block in parsed.blocks]) == ("LS", [2])
