from pathlib import Path

import pytest

from tests.torture.figures import ROOT, TESTED, Figure, figures


@pytest.mark.parametrize("figure", [each for each in figures() if each.QUICK], ids=lambda figure: figure.ID)
def test_figures_are_met(figure: Figure, tmp_path: Path) -> None:
    measured = figure.measure(figure.QUICK, tmp_path)
    assert measured.is_met, f"{figure.FIGURE}: {measured.text}"
    assert measured.cases >= figure.QUICK


def test_files_are_named_by_identifiers() -> None:
    for figure in figures():
        assert Path(str(figure.__file__)).name.startswith(f"{figure.ID.lower()}_")  # type: ignore[attr-defined]


def test_tests_of_figures_exist() -> None:
    arguments = [argument for figure in TESTED for argument in figure.tests if argument.startswith("tests/")]
    for path, _, name in (argument.partition("::") for argument in arguments):
        assert (ROOT / path).exists()
        assert not name or f"def {name}(" in (ROOT / path).read_text()
