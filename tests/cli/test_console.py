import io
import os
import re
import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

from sumpool.cli.console import Log, Terminal, format_metric, mark_segments, print_message, shows_colours, table, wrap
from sumpool.progress import Progress
from tests.text.test_cleaning import FORGED, HARMLESS, HOSTILE, ONE_LINE


def test_log_writes_every_ten_seconds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    for second in range(31):
        monkeypatch.setattr("time.monotonic", lambda now=second: float(now))
        log.report(Progress("train", second, 30, {"loss": 3.0}, note="began" if second == 0 else ""))
    log.close()
    lines = [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "began",
        "train  10/30  loss 3  20 s left",
        "train  20/30  loss 3  10 s left",
        "train  30/30  loss 3",
    ]


def test_a_restarted_task_is_logged_anew(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    for second, done in enumerate([0, 1, 0, 1]):
        monkeypatch.setattr("time.monotonic", lambda now=11.0 * second: now)
        log.report(Progress("evaluate", done, 1))
    log.close()
    assert [line[9:] for line in capsys.readouterr().err.splitlines()] == ["evaluate  1/1", "evaluate  1/1"]


def test_tasks_of_unknown_length_and_the_last_progress_are_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    for _ in range(3):
        log.report(Progress("vocabulary"))
    log.report(Progress("other", note="a note"))
    log.report(Progress("read", 5000))
    log.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line[9:] for line in lines] == ["vocabulary ...", "a note", "read  5,000"]
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)


def test_log_and_results_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.report(Progress("x", note=HOSTILE))
    log.result(HOSTILE)
    shown = capsys.readouterr()
    assert shown.out == f"{HARMLESS}\n"
    assert shown.err.count(HARMLESS) == 1
    assert "\x1b" not in shown.err


def terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Terminal, io.StringIO]:
    written = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console", lambda stderr: Console(file=written, force_terminal=True, width=200, stderr=stderr)
    )
    return Terminal(), written


def plain(written: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())


def test_terminal_draws_a_bar_per_task_and_keeps_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    display, written = terminal(monkeypatch)
    display.report(Progress("train [red]", 0, 20, {"loss": 4.0}, note="[bold]11 M parameters"))
    display.report(Progress("train [red]", 20, 20))
    display.close()
    text = plain(written)
    assert "[bold]11 M parameters" in text
    assert "train [red]" in text
    assert "20/20 loss 4" in text


def test_terminal_completes_a_task_of_unknown_length_when_the_next_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    display, written = terminal(monkeypatch)
    display.report(Progress("vocabulary"))
    display.report(Progress("tokens", 1, 2))
    display.close()
    assert "vocabulary ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1/1" in plain(written)


def test_terminal_escapes_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    display, written = terminal(monkeypatch)
    display.report(Progress(f"x{HOSTILE}", 1, 2, {"a": HOSTILE}, note=HOSTILE))
    display.close()
    assert "\x9b" not in written.getvalue()
    assert "\x1b[31m" not in written.getvalue()


def test_results_go_to_stdout_unless_the_bars_share_its_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    display, written = terminal(monkeypatch)
    display.result("for the file")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    display.result("for [the] eye")
    display.close()
    assert capsys.readouterr().out == "for the file\n"
    assert "for [the] eye" in written.getvalue()
    assert "for the file" not in written.getvalue()


def test_metrics_have_four_significant_digits() -> None:
    for value, text in (
        (3.45678, "3.457"),
        (0.00012, "0.00012"),
        (12034.6, "12,035"),
        (1000.0, "1,000"),
        (1, "1"),
        (1234567, "1,234,567"),
        ("a\x1b", r"a\u001b"),
    ):
        assert format_metric(value) == text


def test_messages_and_tables_have_no_forged_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_message(HOSTILE + FORGED)
    assert capsys.readouterr() == ("", f"{HARMLESS}{ONE_LINE}\n")
    print_message("error: r.yaml: 2 problems\n  - a\nerror: forged\n  - b")
    assert capsys.readouterr().err == "error: r.yaml: 2 problems\n  - a\\u000aerror: forged\n  - b\n"
    assert len(table(["a\nb"], [["c\nd"]], title="e\nf").splitlines()) == 4
    assert format_metric(FORGED) == ONE_LINE


def test_the_rule_of_a_table_has_characters_of_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), "latin-1"))
    assert table(["a"], [["b"]]).splitlines() == ["a", "-", "b"]


def test_a_table_is_aligned_and_ignores_markup() -> None:
    lines = table(["system", "R1"], [["[red]model", "41.0"], ["lead\x1b", "9.6"]], title="[b]test").splitlines()
    assert lines == ["[b]test", "system        R1", "────────────────", "[red]model  41.0", "lead\\u001b   9.6"]


def test_only_numeric_columns_are_aligned_right() -> None:
    lines = table(["slice", "n", "p"], [["all", "7", "0.001"], ["low-leak", "12", ""]]).splitlines()
    assert lines[2:] == ["all        7  0.001", "low-leak  12"]


def test_a_wide_table_is_split_into_blocks_with_the_key_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = table(
        ["slice", "system", *"abcd"], [["all", "tiny", *["x" * 20] * 4], ["all", "lead", *"1234"]], "t", keys=2
    )
    blocks = [block.splitlines() for block in text.split("\n\n")]
    assert blocks[0][0] == "t"
    assert blocks[0][1].split() == ["slice", "system", "a", "b", "c"]
    assert blocks[1][0].split() == ["slice", "system", "d"]
    assert blocks[1][2:] == [f"all    tiny    {'x' * 20}", "all    lead    4"]
    assert max(map(len, text.splitlines())) <= 80


def test_a_cell_wider_than_a_line_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    blocks = table(["a", "b", "c"], [["1", "word " * 30, "12.5"], ["3", "", ""]]).split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [["a", "b"], ["a", "c"]]
    assert [line.split() for line in blocks[0].splitlines()[2:]] == [["1", *["word"] * 15], ["word"] * 15, ["3"]]
    assert max(map(len, blocks[0].splitlines())) <= 80


@pytest.mark.parametrize(("columns", "width"), [(None, 100), ("40", 80), ("132", 132)])
def test_lines_fit_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((0, 0)))  # as without a terminal
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    lines = wrap("word-s " * 60).splitlines()
    assert width - 7 < len(lines[0]) <= width
    assert all(line.startswith("  word-s") for line in lines[1:])


SEGMENTS = ["the ", "qui", "ck\x1b[2J\n", "fox‮"]


class Tty(StringIO):
    def isatty(self) -> bool:
        return True


def test_neighbours_have_different_colours_or_bars_between_them() -> None:
    assert mark_segments(["the ", "quick", " ly"], colours=False) == "the |quick| ly"
    assert mark_segments(["a\nb"], colours=True) == "\x1b[30;46ma\x1b[0m\n\x1b[30;46mb\x1b[0m"
    marked = mark_segments(["the ", "quick", "ly "], colours=True)
    assert marked == "\x1b[30;46mthe \x1b[0m\x1b[30;43mquick\x1b[0m\x1b[30;46mly \x1b[0m"


@pytest.mark.parametrize("colours", [True, False])
def test_text_is_inert(colours: bool) -> None:
    marked = mark_segments(SEGMENTS, colours)
    assert "\x1b[2J" not in marked
    assert "\\u001b[2J" in marked
    assert "‮" not in marked


def test_colours_need_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not shows_colours()
    monkeypatch.setattr(sys, "stdout", Tty())
    assert shows_colours()
    monkeypatch.setenv("TERM", "dumb")
    assert not shows_colours()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colours()
