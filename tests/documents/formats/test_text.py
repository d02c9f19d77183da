from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.text import parse

PROSE = (
    "A paragraph of a text that goes on over the end of its line, because it\n"
    "is too long for one line, and that ends here."
)


def blocks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks]


def kinds(text: str) -> list[str]:
    return [kind for kind, _, _ in blocks(text)]


def test_lines_of_a_paragraph_are_joined() -> None:
    text = "One paragraph that is broken at the end of its lines and at a hy-\nphen, as in a machine-\nreadable text."
    assert blocks(f"{text}\n\nTwo.") == [
        ("paragraph", 0, text.replace("-\n", "-").replace("\n", " ")),
        ("paragraph", 0, "Two."),
    ]


def test_headings_are_recognised() -> None:
    for heading, level in [
        ("Introduction\n============", 1),
        ("************\nIntroduction\n************", 1),
        ("1. Introduction", 1),
        ("2.3. How do I read it?", 2),
        ("2.3.1. A long heading that is broken at the end of the line since it\nis so long", 3),
        ("Chapter 4. Birds", 1),
        ("INTRODUCTION", 1),
        ("About the Birds", 2),
        ("1. Definitions.", 1),
    ]:
        text = f"{PROSE}\n\n{heading}\n\n{PROSE}\n"
        kind, level_of_it, content = blocks(text)[1]
        assert (kind, level_of_it) == ("heading", level)
        assert content in " ".join(heading.split())


def test_levels_follow_underlines() -> None:
    text = f"Title\n=====\n\n{PROSE}\n\nPart\n----\n\n{PROSE}\n\nOther\n=====\n\n{PROSE}\n"
    assert [level for kind, level, _ in blocks(text) if kind == "heading"] == [1, 2, 1]


def test_stars_are_headings_where_the_mode_says_so() -> None:
    text = "Birds NEWS -*- outline -*-\n\n* Birds 1.2\n** Fixed\n\nThe owl hoots.\n\n  * The crow.\n"
    assert blocks(text) == [
        ("heading", 1, "Birds NEWS"),
        ("heading", 1, "Birds 1.2"),
        ("heading", 2, "Fixed"),
        ("paragraph", 0, "The owl hoots."),
        ("list_item", 1, "The crow."),
    ]
    assert blocks(text.replace("outline", "text"))[1][0] == "list_item"


def test_frames_are_no_text() -> None:
    for mark in "*#":
        rule, empty = 16 * mark, f"{mark}{14 * ' '}{mark}"
        text = f"{rule}\n{empty}\n{mark} About birds  {mark}\n{empty}\n{rule}\n\n{mark} The owl hoots.\n"
        parsed = parse(text.encode(), DEFAULT_OPTIONS)
        assert parsed.title == "About birds"
        assert (parsed.blocks[0].text, parsed.blocks[0].line) == ("About birds", 3)
        assert "The owl hoots." in parsed.blocks[1].text  # behind the frame marks are those of a list


def test_spaces_behind_the_mark_of_an_item_are_no_columns() -> None:
    assert blocks("Birds:\n o    The owl hoots.\n o    The crow caws.\n")[1:] == [
        ("list_item", 1, "The owl hoots."),
        ("list_item", 1, "The crow caws."),
    ]


def test_first_line_is_the_title() -> None:
    parsed = parse(
        b"      A Title in\n   the Middle\n\nText that is longer than it, and ends with a stop.\n", DEFAULT_OPTIONS
    )
    assert parsed.title == "A Title in the Middle"
    assert parse(b"Only one line", DEFAULT_OPTIONS).title == ""


def test_list_items_are_apart() -> None:
    text = """
There are:
  1. one thing, which is
     long enough for two lines;
  2. another.
  * a last (a) thing

- Item

  Its paragraph goes on.
"""
    assert [item for item in blocks(text) if item[0] == "list_item"] == [
        ("list_item", 1, "one thing, which is long enough for two lines;"),
        ("list_item", 1, "another."),
        ("list_item", 1, "a last (a) thing"),
        ("list_item", 1, "Item"),
    ]


def test_versions_with_a_date_are_no_list_items() -> None:
    assert kinds("2.28 (2023-01-16):\n\nSome text of a paragraph.\n")[0] != "list_item"
    assert kinds("2.28 The second item of a section.\n") == ["list_item"]


def test_tables_drawings_and_code_are_no_prose() -> None:
    assert kinds("Name      Size   Date\nls        10     May\ncat       20     June\n") == ["table_row"] * 3
    assert blocks("| a | b |\n| c | d |\n") == [("table_row", 0, "a b"), ("table_row", 0, "c d")]
    assert kinds("+----+    +----+\n| ab |--->| cd |\n+----+    +----+\n") == ["code"]
    code = f"{PROSE}\n\n    for name in names:\n        print(name)\n\n    $ ls -l\n\n{PROSE}"
    assert kinds(code) == ["paragraph", "code", "code", "paragraph"]
    assert blocks(code)[1][2] == "for name in names:\n    print(name)"


def test_fields_and_short_lines_are_not_glued() -> None:
    assert blocks("Name: ls\nVersion: 1\nSummary: lists the files of all the folders\n  that it is given\n")[1:] == [
        ("paragraph", 0, "Version: 1"),
        ("paragraph", 0, "Summary: lists the files of all the folders that it is given"),
    ]
    address = f"{PROSE}\n\nJane Doe\n12 Long Street\nBoston, USA\n"
    assert [text for _, _, text in blocks(address)[1:]] == ["Jane Doe", "12 Long Street", "Boston, USA"]


def test_answers_are_apart_from_their_questions() -> None:
    text = f"Q: Why does the gateway wait?\nA: {PROSE}\n"
    assert [text[:7] for _, _, text in blocks(text)] == ["Q: Why ", "A: A pa"]


def test_lines_without_a_limit_are_paragraphs() -> None:
    line = "A sentence that is written in one line, as editors without hard line breaks do. " * 3
    assert kinds(f"{line}\n{line}\n{line}\n") == ["paragraph"] * 3


def test_indented_first_lines_begin_paragraphs() -> None:
    text = f"   {PROSE}\n   {PROSE}\n   {PROSE}\n"
    assert kinds(text) == ["paragraph"] * 3


def test_printed_pages_are_joined() -> None:
    lines = "\n".join(
        f"Line {number} of a page, which is a line of text that goes on to the next line," for number in range(30)
    )
    pages = "\f".join(f"Some Manual                  {number}\n\n{lines}\n" for number in range(1, 7))
    assert [text for _, _, text in blocks(pages) if "Some Manual" in text] == ["Some Manual 1"]
    assert "\f" not in "".join(text for _, _, text in blocks("Part one\f\nand\f two\n"))


def test_terminal_codes_and_overstrikes_are_removed() -> None:
    assert blocks("\x1b[1mBold\x1b[0m and B\bBo\bol\bld\bd, _\bu here.\n") == [
        ("paragraph", 0, "Bold and Bold, u here.")
    ]


def test_chinese_lines_are_joined_without_spaces() -> None:
    assert blocks("路由器在网络之间转发数据包并且丢弃\n太长的数据包。\n") == [
        ("paragraph", 0, "路由器在网络之间转发数据包并且丢弃太长的数据包。")
    ]


def test_captions_are_no_prose() -> None:
    caption = "Figure 1: Sparse attention matrices. (A) The complete input. (B) Blocks."
    assert kinds(f"{PROSE}\n\n{caption}\n\nFigure 1 shows how the matrices differ from each other.\n\n{PROSE}") == [
        "paragraph",
        "caption",
        "paragraph",
        "paragraph",
    ]


def test_initials_are_no_marks_of_items() -> None:
    for text in (
        "M. Dupont a fermé le pont lundi.",
        "J. Roe, who was there, said that it was closed.",
        "B. Bo sang. C. Di danced.",
    ):
        assert [block[::2] for block in blocks(f"{text}\n\n{text}\n")] == [("paragraph", text)] * 2


def test_letters_from_a_on_are_marks_of_items() -> None:
    text = "A. Open the lid of the pump.\nB. Close it again with care.\n\nM. Dupont waits.\n\nC. Call the office.\n"
    assert [block[::2] for block in blocks(text)] == [
        ("list_item", "Open the lid of the pump."),
        ("list_item", "Close it again with care."),
        ("paragraph", "M. Dupont waits."),
        ("list_item", "Call the office."),
    ]
