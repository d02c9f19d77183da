import io

import pytest

from sumpool.cli.text import mark_segments, shows_colours

SEGMENTS = ["the ", "qui", "ck\x1b[2J\n", "fox‮"]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_neighbours_have_different_colours() -> None:
    marked = mark_segments(["the ", "quick", "ly "], colours=True)
    assert marked == "\x1b[30;46mthe \x1b[0m\x1b[30;43mquick\x1b[0m\x1b[30;46mly \x1b[0m"


def test_colours_end_with_the_line() -> None:
    assert mark_segments(["a\nb"], colours=True) == "\x1b[30;46ma\x1b[0m\n\x1b[30;46mb\x1b[0m"


def test_without_colours_bars_stand_between_segments() -> None:
    assert mark_segments(["the ", "quick", " ly"], colours=False) == "the |quick| ly"


@pytest.mark.parametrize("colours", [True, False])
def test_text_is_inert(colours: bool) -> None:
    marked = mark_segments(SEGMENTS, colours)
    assert "\x1b[2J" not in marked
    assert "\\u001b[2J" in marked
    assert "‮" not in marked


def test_colours_need_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_colours(Tty())
    assert not shows_colours(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not shows_colours(Tty())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colours(Tty())
