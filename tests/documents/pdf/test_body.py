from sumpool.documents.pdf.blocks import Group
from sumpool.documents.pdf.blocks import _is_caption as is_caption
from sumpool.documents.pdf.blocks import _join_across_breaks as join_across_breaks
from sumpool.documents.pdf.headings import find_title
from sumpool.documents.pdf.kinds import Body, measure_body
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.pdf.segments import Segment


def line(text: str, y: float, size: float) -> PrintedLine:
    return PrintedLine([Segment(text, 72, 500, y, size)], 1, 0, 72, 500)


def test_body_has_the_size_and_spacing_of_most_text() -> None:
    body = measure_body([line("Title", 50, 18), *(line("A line of running text", 100 + 12 * n, 10) for n in range(9))])
    assert (body.size, body.leading, body.mono, body.bold) == (10, 1.2, False, False)


def test_text_of_size_zero_is_measured() -> None:
    assert measure_body([line("Hidden in a picture", 100 + n, 0) for n in range(9)]).size == 0.1


def test_the_size_of_a_line_is_that_of_its_longest_part() -> None:
    segments = [Segment("2", 72, 76, 96, 6), Segment("The harbour", 77, 200, 100, 10), Segment("*", 201, 205, 96, 6)]
    printed = PrintedLine(segments, 1, 0, 72, 500)
    assert (printed.size, printed.y) == (10, 100)


def test_a_label_without_a_mark_is_a_caption_in_another_style() -> None:
    body = Body(10, 1.2, mono=False, bold=False)
    text = "Figure 3 The harbour at night"
    assert is_caption(line(text, 100, 9), body)
    assert not is_caption(line(text, 100, 10), body)
    assert is_caption(PrintedLine([Segment(text, 72, 500, 100, 10, bold=0.3)], 1, 0, 72, 500), body)
    assert is_caption(line("Figure 3: The harbour at night", 100, 10), body)
    assert not is_caption(line("The harbour at night", 100, 9), body)


def test_a_paragraph_goes_on_behind_a_caption() -> None:
    body = Body(10, 1.2, mono=False, bold=False)
    opening, caption = line("The harbour of the town is", 700, 10), line("Figure 1: Boats without sails", 740, 10)
    rest = PrintedLine([Segment("closed in winter.", 72, 200, 80, 10)], 2, 0, 72, 500)
    groups = [Group("paragraph", [opening]), Group("caption", [caption]), Group("paragraph", [rest])]
    assert [group.lines for group in join_across_breaks(groups, body)] == [[opening, rest], [caption]]


def test_name_of_a_journal_with_year_and_volume_is_no_title() -> None:
    lines = [line("Journal of Rain", 40, 20), line("How Towns Keep Water", 120, 16), line("Text", 300, 10)]
    body = Body(10, 1.2, mono=False, bold=False)
    assert find_title(lines, body, "") == "Journal of Rain", "nothing says otherwise"
    issue = line("214 Journal of Rain, 2016, 10, 214-221", 20, 8)
    assert find_title([issue, *lines], body, "") == "How Towns Keep Water"
