from sumpool.documents.text_lines import indentation, numbered_lines

PAGES = """
RFC 9                     Birds                     May 1990

   The first paragraph of this page goes on to the next page, since it
   is too long for
   one; it has no end on this page and therefore it has to be put




Doe                                                     [Page 1]
\f
RFC 9                     Birds                     May 1990


   together again.

   This one ends with its page.

Doe                                                     [Page 2]
\f
RFC 9                     Birds                     May 1990

   RFC 8 is the subject of this paragraph.
"""


def lines_of(text: str) -> list[str]:
    return [line for _, line in numbered_lines(text)]


def test_headers_and_footers_are_removed_and_paragraphs_rejoined() -> None:
    assert lines_of(PAGES)[2:] == [
        "   The first paragraph of this page goes on to the next page, since it",
        "   is too long for",
        "   one; it has no end on this page and therefore it has to be put",
        "   together again.",
        "",
        "   This one ends with its page.",
        "",
        "   RFC 8 is the subject of this paragraph.",
    ]


def test_two_line_headers_and_bare_page_numbers_are_removed() -> None:
    pages = [
        f"May 1981\nSome Protocol\n\nText number {word}.\n\n- {n} -" for n, word in enumerate(["a", "b", "c", "d"])
    ]
    lines = lines_of("\f".join(pages))
    assert [line for line in lines if line][2:] == [f"Text number {word}." for word in "abcd"] + ["- 3 -"]


def test_text_without_pages_is_kept() -> None:
    assert lines_of("\ufeffOne\r\ntwo  \r\n\r\n\tThree\r\n") == ["One", "two", "", "        Three"]
    assert lines_of("") == []


def test_indentation_counts_spaces() -> None:
    assert indentation("   x y") == 3


def double_spaced(paragraphs: list[list[str]]) -> str:
    return "\n\n\n".join("\n\n".join(lines) for lines in paragraphs)


SENTENCE = [
    "     A modem that answers  too  early  spoils  the  whole  call,  and",
    "nobody  at the other end can tell whether the line or the program is",
    "to  blame  for it.",
]


def test_double_spaced_paragraphs_are_rejoined() -> None:
    lines = lines_of(double_spaced([["     1.  Modems"], *[SENTENCE] * 12]))
    assert lines[:7] == ["     1.  Modems", "", "", *SENTENCE, ""]
    assert [line for line in lines if line] == ["     1.  Modems", *SENTENCE * 12]
    assert lines.count("") == 24


def test_double_spaced_tables_and_list_items_stay_apart() -> None:
    table = [
        "the name of the field       the octets of it in the leader of a message",
        "the number of the host      one octet, the first one of the message",
    ]
    items = ["     o A modem that is deaf to the tones of all the other modems in", "     o another town"]
    lines = lines_of(double_spaced([*[SENTENCE] * 12, table, items]))
    assert lines[-8:] == [table[0], "", table[1], "", "", items[0], "", items[1]]


def test_revision_bars_of_double_spaced_text_are_removed() -> None:
    marked = [f"{line:76}|" for line in SENTENCE]
    lines = lines_of(double_spaced([*[SENTENCE] * 12, marked]))
    assert [line for line in lines if line][-3:] == SENTENCE


def test_single_spaced_lists_keep_their_empty_lines() -> None:
    entries = [f"{number:3} Postel    A Title That Is As Long As A Line Of A Paragraph" for number in range(40)]
    assert lines_of("\n\n".join(entries)).count("") == 39
