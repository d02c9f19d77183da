from sumpool.documents.pdf.blocks import (
    Body,
    Group,
    Vocabulary,
    classify_lines,
    compose_blocks,
    find_title,
    group_lines,
    is_scrambled,
    measure_body,
)
from sumpool.documents.pdf.blocks import _join_across_breaks as join_across_breaks
from sumpool.documents.pdf.lines import PrintedLine, Segment, clean_characters, join_runs
from sumpool.documents.pdf.runs import Font, Run, classify_font

BODY = Body(10, 1.2, mono=False, bold=False)


def line(text: str, y: float, size: float = 14) -> PrintedLine:
    return PrintedLine([Segment(text, 72, 500, y, size)], 1, 0, 72, 500)


def test_bold_lines_are_a_heading_or_a_paragraph() -> None:
    for texts, kind in [
        (["The package draws plots", "in all formats, with one", "size of the page for each", "of them."], "paragraph"),
        (["The package", "that draws", "plots in", "all formats"], "heading"),
        (["Plots in all formats, vol."], "heading"),
    ]:
        lines = [line(text, 100 + 16 * number) for number, text in enumerate(texts)]
        assert [block.kind for block in compose_blocks([Group("heading", lines)], lines, "")] == [kind]


def test_lines_are_joined() -> None:
    for context, lines, joined in [
        ("", ["a docu-", "ment of"], "a document of"),
        ("a well, known house", ["a well-", "known house"], "a well-known house"),
        ("a wellknown house, well, known", ["a well-", "known house"], "a wellknown house"),
        ("the self-made boat", ["a self-", "made boat"], "a self-made boat"),
        ("", ["the UTF-", "8 file"], "the UTF-8 file"),
        ("", ["the Anna-", "Berta house"], "the Anna-Berta house"),
        ("", ["an e-", "mail"], "an e-mail"),
        ("", ["Vor-", "und Nachteile"], "Vor- und Nachteile"),
        ("", ["pages 737\u2013", "749 and 3 \u2013", "4"], "pages 737\u2013749 and 3 \u2013 4"),
        ("", ["soft hy\u00ad", "phens and\u00admore"], "soft hyphens andmore"),
        ("", ["see https://example.org/a/", "b.html here"], "see https://example.org/a/b.html here"),
        ("", ["see https://example.org.", "Then go"], "see https://example.org. Then go"),
        ("", ["GNU/-", "Linux"], "GNU/Linux"),
        ("", ["图应编排", "序号"], "图应编排序号"),
        ("", ["", "one", "", "two"], "one  two"),
    ]:
        assert " ".join(Vocabulary([context, *lines]).join(lines).split()) == " ".join(joined.split())


def test_divided_words_are_not_counted() -> None:
    counts = Vocabulary(["one docu-", "ment two-part"]).counts
    assert counts == {"one": 1, "two-part": 1, "two": 1, "part": 1}


def test_texts_of_fonts_without_letters_are_scrambled() -> None:
    for text, expected in [
        ("NpfPORTwLxJ_cydMO Qz^_KJHN ORqkk\u0304lRl " * 50, True),
        ("NpfPORTwLxJ_cydMO Qz^_KJHN ORqkk\u0304lRl " * 30, False),  # too short to tell
        ("Each host of a network of gateways waits, \u00e0 c\u00f4t\u00e9 des autres. " * 50, False),
        ("self.read_words(maxWords=3) returns WordCount objects and os.path.join " * 50, False),
        ("P\u2761\u2665\u275b\u2767\u2710\u2462\u2761\u275e \u2767\u2761\u275bst sq\u2709\u275br\u2761s " * 20, True),
        ("The sign \u2665 stands for hearts, and \u2709 for a letter. " * 20, False),
        ("\u672c\u624b\u518c\u63cf\u8ff0R2D2\u4e3b\u673aTCP_ip\u5982\u4f55 " * 200, False),
    ]:
        assert is_scrambled(text) is expected


def test_body_has_the_size_and_spacing_of_most_text() -> None:
    body = measure_body([line("Title", 50, 18), *(line("A line of running text", 100 + 12 * n, 10) for n in range(9))])
    assert (body.size, body.leading, body.mono, body.bold) == (10, 1.2, False, False)
    assert measure_body([line("Hidden in a picture", 100 + n, 0) for n in range(9)]).size == 0.1


def test_the_size_of_a_line_is_that_of_its_longest_part() -> None:
    segments = [Segment("2", 72, 76, 96, 6), Segment("The harbour", 77, 200, 100, 10), Segment("*", 201, 205, 96, 6)]
    printed = PrintedLine(segments, 1, 0, 72, 500)
    assert (printed.size, printed.y) == (10, 100)


def test_styles_have_shares_of_the_characters() -> None:
    segments = [Segment("x", 72, 76, 100, 10, math=1.0), Segment("now", 90, 200, 100, 10)]
    assert PrintedLine(segments, 1, 0, 72, 500).share("math") == 0.25


def test_lines_with_a_relation_and_few_letters_are_formulas() -> None:
    lines = [line("a=b", 100), line("a=", 200), line("Set a = b where boats sail.", 300)]
    assert classify_lines(lines, BODY) == ["formula", "text", "text"]


def test_a_label_without_a_mark_is_a_caption_in_another_style() -> None:
    text = "Figure 3 The harbour at night"
    for printed, is_caption in [
        (line(text, 100, 9), True),
        (line(text, 100, 10), False),
        (PrintedLine([Segment(text, 72, 500, 100, 10, bold=0.3)], 1, 0, 72, 500), True),
        (line("Figure 3: The harbour at night", 100, 10), True),
        (line("The harbour at night", 100, 9), False),
    ]:
        assert (group_lines([printed], ["text"], BODY)[0].kind == "caption") is is_caption


def test_a_paragraph_goes_on_behind_a_caption() -> None:
    opening, caption = line("The harbour of the town is", 700, 10), line("Figure 1: Boats without sails", 740, 10)
    rest = PrintedLine([Segment("closed in winter.", 72, 200, 80, 10)], 2, 0, 72, 500)
    groups = [Group("paragraph", [opening]), Group("caption", [caption]), Group("paragraph", [rest])]
    assert [group.lines for group in join_across_breaks(groups, BODY)] == [[opening, rest], [caption]]


def test_name_of_a_journal_with_year_and_volume_is_no_title() -> None:
    lines = [line("Journal of Rain", 40, 20), line("How Towns Keep Water", 120, 16), line("Text", 300, 10)]
    assert find_title(lines, BODY, "") == "Journal of Rain", "nothing says otherwise"
    issue = line("214 Journal of Rain, 2016, 10, 214-221", 20, 8)
    assert find_title([issue, *lines], BODY, "") == "How Towns Keep Water"


FONT = Font()


def run(text: str, x0: float, x1: float, y: float = 100, size: float = 10) -> Run:
    return Run(text, x0, x1, y, size, FONT)


def test_characters_are_cleaned() -> None:
    for raw, clean in [
        ("e\ufb03cient \ufb01sh", "efficient fish"),
        ("e\x0ecient \x0csh", "efficient fish"),
        ("M\u00a8uller caf\u00b4 e", "Müller café"),
        ("\U0001d44e + \U0001d44f", "a + b"),
        ("proceed\ufffe", "proceed-"),
        ("图\uff0c表", "图\uff0c表"),
        ("a\u00a0b", "a b"),
    ]:
        assert clean_characters(raw) == clean


def test_runs_are_joined_to_segments_by_their_places() -> None:
    for runs, texts in [
        ([run("The", 10, 25), run("harbour", 28, 60), run(".", 60, 62)], ["The harbour."]),
        ([run("left", 10, 25), run("right", 45, 60)], ["left", "right"]),
        ([run("over", 10, 43), run("Next", 10, 30, 112), run("lap", 40, 60)], ["Next", "overlap"]),  # by .3 of the size
        ([run("harbour", 28, 60), run("Next", 10, 30, 112), run("The", 10, 25)], ["Next", "The harbour"]),
        ([run("\x88", 10, 15), run("item", 20, 40)], ["• item"]),
    ]:
        assert sorted(segment.text for segment in join_runs(runs)) == texts


def test_initial_beside_a_symbol_that_python_takes_for_white_space() -> None:
    beside = [run("\x0c", 40, 44), run("the old harbour", 46, 110), run("was closed in winter", 40, 110, 112)]
    (first, *_) = join_runs([run("T", 10, 38, 112, 30), *beside])
    assert first.text == "Tfi the old harbour"


def test_marks_of_notes_are_dropped_and_powers_kept() -> None:
    raised = {"y": 96.0, "size": 6.0}
    (word,) = join_runs([run("harbour", 10, 40), run("3", 40, 43, **raised), run("is", 46, 52)])
    (power,) = join_runs([run("10", 10, 20), run("6", 20, 23, **raised), run("boats", 26, 50)])
    assert (word.text, power.text) == ("harbour is", "10⁶ boats")
    for size, text in [(8.7, "10⁶ boats"), (8.8, "106 boats")]:
        (power,) = join_runs([run("10", 10, 20), run("6", 20, 23, 96, size), run("boats", 26, 50)])
        assert power.text == text
    (note,) = join_runs([run("3", 10, 13, **raised), run("A note", 14, 40, size=8.0)])
    assert (note.text, note.mark) == ("A note", "3")


def test_name_weight_and_flags_show_the_style() -> None:
    for name, bold, italic, mono, math in [
        ("Times-Roman", False, False, False, False),
        ("Times-BoldItalic", True, True, False, False),
        ("CMR10", False, False, False, False),
        ("CMBX12", True, False, False, False),
        ("SFSX1000", True, False, False, False),
        ("CMTI10", False, True, False, False),
        ("CMTT10", False, False, True, False),
        ("IBMPlexMono-Medium", False, False, True, False),
        ("CMMI10", False, False, False, True),
        ("CMSY7", False, False, False, True),
        ("LibertinusMath-Regular", False, False, False, True),
    ]:
        assert classify_font(name) == Font(bold, italic, mono, math)

    assert classify_font("F1", weight=700).bold
    assert not classify_font("CMR10", weight=700).bold
    assert classify_font("Any", flags=1).mono
    assert classify_font("Any", flags=1 << 6).italic
    assert classify_font("Any", flags=1 << 18).bold
