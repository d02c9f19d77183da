import pytest

from sumpool.bench.results.table import percent, significant


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.012345, "0.0123"),
        (0.5, "0.500"),
        (9.999, "10.00"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12,346"),
    ],
)
def test_digits_that_count(value: float | None, text: str) -> None:
    assert significant(value) == text


def test_percent() -> None:
    assert (percent(0.614), percent(None)) == ("61 %", "-")
