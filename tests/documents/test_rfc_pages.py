from sumpool.documents.rfc_pages import indentation, remove_page_breaks

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


def test_headers_and_footers_are_removed_and_paragraphs_rejoined() -> None:
    assert remove_page_breaks(PAGES)[2:] == [
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
    lines = remove_page_breaks("\f".join(pages))
    assert [line for line in lines if line][2:] == [f"Text number {word}." for word in "abcd"] + ["- 3 -"]


def test_text_without_pages_is_kept() -> None:
    assert remove_page_breaks("\ufeffOne\r\ntwo  \r\n\r\n\tThree\r\n") == ["One", "two", "", "        Three"]
    assert remove_page_breaks("") == []


def test_indentation_counts_spaces() -> None:
    assert indentation("   x y") == 3
