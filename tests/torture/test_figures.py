from pathlib import Path

import pytest

from tests.torture.figures import Figure, figures


@pytest.mark.parametrize("figure", [each for each in figures() if each.QUICK], ids=lambda figure: figure.ID)
def test_figures_are_met(figure: Figure, tmp_path: Path) -> None:
    measured = figure.measure(figure.QUICK, tmp_path)
    assert measured.is_met, f"{figure.FIGURE}: {measured.text}"
    assert measured.cases >= figure.QUICK
