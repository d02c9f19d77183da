from sumpool.documents.pdf.blocks import Group, compose_blocks
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.pdf.segments import Segment


def line(text: str, y: float) -> PrintedLine:
    return PrintedLine([Segment(text, 72, 500, y, 14)], 1, 0, 72, 500)


def kinds(texts: list[str]) -> list[str]:
    lines = [line(text, 100 + 16 * number) for number, text in enumerate(texts)]
    return [block.kind for block in compose_blocks([Group("heading", lines)], lines, "")]


def test_a_bold_abstract_is_a_paragraph() -> None:
    assert kinds(["The package draws plots", "in all formats, with one", "size of the page for each", "of them."]) == [
        "paragraph"
    ]


def test_a_heading_of_many_lines_is_one() -> None:
    assert kinds(["The package", "that draws", "plots in", "all formats"]) == ["heading"]
    assert kinds(["Plots in all formats, vol."]) == ["heading"]
