import pytest

from sumpool.tasks.language_modeling.evaluate import TextWindow, count_units, overlapping_windows, released_windows


def test_every_token_but_the_first_is_predicted_once() -> None:
    for tokens in (0, 1, 2, 7, 8, 9, 40, 41):
        for length, step in ((8, 3), (8, 8), (8, 1), (64, 16)):
            windows = overlapping_windows(tokens, length, step)
            predicted = [token for window in windows for token in range(window.scored, window.end)]
            assert predicted == list(range(1, tokens))


def test_every_prediction_sees_as_much_as_a_window_holds() -> None:
    for window in overlapping_windows(1000, 64, 16):
        assert window.length <= 64
        assert window.start == 0 or window.length == 64
        assert window.scored - window.start >= min(window.scored, 64 - 16 + 1)
        assert window.end - window.scored == window.tokens <= 16


def test_the_paper_windows_have_1536_earlier_characters_at_least() -> None:
    windows = overlapping_windows(10_000, 2048, 512)
    assert windows[:2] == [TextWindow(0, 1, 513), TextWindow(0, 513, 1025)]
    assert windows[3:5] == [TextWindow(0, 1537, 2049), TextWindow(512, 2049, 2561)]
    assert windows[-1] == TextWindow(9999 - 2048, 9729, 10_000)


def test_the_released_protocol_scores_82_percent_of_text8() -> None:
    windows = released_windows(5_000_000, 2048, 512)
    assert len(windows) == 16 * 500
    assert sum(window.tokens for window in windows) / 5_000_000 == pytest.approx(0.8192)
    assert windows[500].start == 312_500


def test_the_released_protocol_drops_the_remainder() -> None:
    windows = released_windows(16 * 10 + 15, 8, 4)
    assert max(window.end for window in windows) == 160
    assert sum(window.tokens for window in windows) == 16 * 9


def test_a_step_that_leaves_tokens_out_is_refused() -> None:
    for step in (0, 9):
        with pytest.raises(ValueError, match="step must be from 1 to the length of a window, 8, got"):
            overlapping_windows(10, 8, step)


def test_units_are_counted_where_they_begin() -> None:
    for before, text, expected in (
        (b"", b"the cat", (7, 2)),
        (b"t", b"he cat", (6, 1)),
        (b" ", b"he cat", (6, 2)),
        (b"a", b"\n\n", (2, 0)),
        (b"", "tä tää".encode(), (6, 2)),
        ("ä".encode()[:1], "ä b".encode()[1:], (2, 1)),
        (b"", b"", (0, 0)),
    ):
        assert count_units(before, text) == expected


def test_windows_of_a_text_count_its_units() -> None:
    text = "yksi kaksi  kolme\nneljä viisi ".encode()
    parts = [(text[max(0, start - 1) : start], text[start : start + 5]) for start in range(0, len(text), 5)]
    counted = [count_units(*part) for part in parts]
    assert sum(part[0] for part in counted) == len(text.decode())
    assert sum(part[1] for part in counted) == len(text.split())
