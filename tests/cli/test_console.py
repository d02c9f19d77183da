import io
import re
import sys

import pytest
from rich.console import Console

from sumpool.cli.console import Log, Terminal, screen
from sumpool.progress import Progress
from tests.text.test_cleaning import HARMLESS, HOSTILE


def test_log_writes_every_ten_seconds_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_restarted_task_is_logged_like_a_new_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    for second, done in enumerate([0, 1, 0, 1]):
        monkeypatch.setattr("time.monotonic", lambda now=11.0 * second: now)
        log.report(Progress("evaluate", done, 1))
    log.close()
    assert [line[9:] for line in capsys.readouterr().err.splitlines()] == ["evaluate  1/1", "evaluate  1/1"]


def test_log_writes_the_last_progress_of_an_unfinished_task(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.report(Progress("read", 5000))
    log.close()
    assert re.fullmatch(r"\d\d:\d\d:\d\d read  5,000\n", capsys.readouterr().err)


def test_a_task_of_unknown_length_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    for _ in range(3):
        log.report(Progress("vocabulary"))
    log.report(Progress("other", note="a note"))
    log.close()
    assert [line[9:] for line in capsys.readouterr().err.splitlines()] == ["vocabulary ...", "a note"]


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


def test_screen_is_a_log_without_a_terminal() -> None:
    with screen() as display:
        assert isinstance(display, Log)
