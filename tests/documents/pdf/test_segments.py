from sumpool.documents.pdf.lines import clean_characters, join_runs
from sumpool.documents.pdf.runs import Font, Run

FONT = Font("Times-Roman")


def run(text: str, x0: float, x1: float, y: float = 100, size: float = 10) -> Run:
    return Run(text, x0, x1, y, size, FONT)


def test_characters_are_cleaned() -> None:
    for raw, clean in [
        ("e\ufb03cient \ufb01sh", "efficient fish"),
        ("e\x0ecient \x0csh", "efficient fish"),
        ("M\u00a8uller caf\u00b4 e", "Müller café"),
        ("c\u00b8a", "ça"),
        ("\U0001d44e + \U0001d44f", "a + b"),
        ("proceed\ufffe", "proceed-"),
        ("图\uff0c表", "图\uff0c表"),
        ("a\u00a0b", "a b"),
    ]:
        assert clean_characters(raw) == clean


def test_runs_of_one_line_are_one_segment() -> None:
    segments = join_runs([run("The", 10, 25), run("harbour", 28, 60), run(".", 60, 62), run("Next", 10, 30, 112)])
    assert [segment.text for segment in segments] == ["The harbour.", "Next"]


def test_wide_gaps_divide_segments() -> None:
    segments = join_runs([run("left", 10, 25), run("right", 45, 60)])
    assert [segment.text for segment in segments] == ["left", "right"]


def test_runs_drawn_out_of_order_are_joined_by_place() -> None:
    segments = join_runs([run("harbour", 28, 60), run("Next", 10, 30, 112), run("The", 10, 25)])
    assert sorted(segment.text for segment in segments) == ["Next", "The harbour"]


def test_marks_of_notes_are_dropped_and_powers_kept() -> None:
    raised = {"y": 96.0, "size": 6.0}
    (word,) = join_runs([run("harbour", 10, 40), run("3", 40, 43, **raised), run("is", 46, 52)])
    (power,) = join_runs([run("10", 10, 20), run("6", 20, 23, **raised), run("boats", 26, 50)])
    assert (word.text, power.text) == ("harbour is", "10⁶ boats")
    (note,) = join_runs([run("3", 10, 13, **raised), run("A note", 14, 40, size=8.0)])
    assert (note.text, note.mark) == ("A note", "3")


def test_unknown_character_before_a_gap_is_a_bullet() -> None:
    (segment,) = join_runs([run("\x88", 10, 15), run("item", 20, 40)])
    assert segment.text == "• item"
