import json

import pytest

from sumpool.cli.text import complain, figure, inert, table

HOSTILE = "\x1b[31mred\x1b[0m\a\r\x9b2J[red]x[/]\u202etxt\ud800"
HARMLESS = r"\u001b[31mred\u001b[0m\u0007\u000d\u009b2J[red]x[/]\u202etxt\ud800"


def test_what_could_command_a_terminal_is_spelt_out() -> None:
    assert inert(HOSTILE) == HARMLESS
    assert inert("naïve 要約\n\ttext ‰ 👩‍💻") == "naïve 要約\n\ttext ‰ 👩‍💻"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.45678, "3.457"),
        (0.00012, "0.00012"),
        (12034.6, "12,035"),
        (1, "1"),
        (1234567, "1,234,567"),
        ("a\x1b", r"a\u001b"),
    ],
)
def test_figures_have_the_digits_a_reader_needs(value: float | str, text: str) -> None:
    assert figure(value) == text


def test_complaints_are_inert(capsys: pytest.CaptureFixture[str]) -> None:
    complain(HOSTILE)
    assert capsys.readouterr() == ("", f"{HARMLESS}\n")


def test_table_aligns_and_takes_no_markup() -> None:
    lines = table(["system", "R1"], [["[red]model", "41.0"], ["lead\x1b", "9.6"]], title="[b]test").splitlines()
    assert lines == ["[b]test", "system        R1", "────────────────", "[red]model  41.0", "lead\\u001b   9.6"]


def test_spelt_out_json_means_the_same() -> None:
    line = json.dumps({"summary": "\x9b\x7f\u202e"}, ensure_ascii=False)
    assert inert(line) != line
    assert json.loads(inert(line)) == json.loads(line)


def test_only_columns_of_numbers_stand_to_the_right() -> None:
    lines = table(["slice", "n", "p"], [["all", "7", "0.001"], ["low-leak", "12", ""]]).splitlines()
    assert lines[2:] == ["all        7  0.001", "low-leak  12"]
