from sumpool.documents.pdf.body import measure_body
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.pdf.segments import Segment


def line(text: str, y: float, size: float) -> PrintedLine:
    return PrintedLine([Segment(text, 72, 500, y, size)], 1, 0, 72, 500)


def test_body_has_the_size_and_spacing_of_most_text() -> None:
    body = measure_body([line("Title", 50, 18), *(line("A line of running text", 100 + 12 * n, 10) for n in range(9))])
    assert (body.size, body.leading, body.mono, body.bold) == (10, 1.2, False, False)


def test_text_of_size_zero_is_measured() -> None:
    assert measure_body([line("Hidden in a picture", 100 + n, 0) for n in range(9)]).size == 0.1
