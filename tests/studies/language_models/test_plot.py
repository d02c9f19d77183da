from pathlib import Path

import pytest

from sumpool.bench.results import Row
from sumpool.studies.language_models.plot import draw_study, pareto_front


def row(name: str, family: str, factor: float, bpc: float, text: str = "rfc") -> Row:
    values = {"row": name, "line": family, "family": family, "text": text, "factor": factor, "bpc": bpc}
    return Row({**values, "low": bpc - 0.01, "high": bpc + 0.01, "layers": 4 + round(factor)})


ROWS = [
    row("vanilla", "vanilla", 1.0, 1.50),
    row("fixed-2", "fixed", 2.0, 1.48),
    row("fixed-4", "fixed", 4.0, 1.56),
    row("gumbel-0.4", "gumbel", 2.5, 1.46),
    row("gumbel-0.2", "gumbel", 5.1, 1.47),
    row("whitespace", "whitespace", 6.0, 1.44),
    row("vanilla", "vanilla", 1.0, 1.20, "fi"),
    row("gumbel-0.2", "gumbel", 5.1, 1.30, "fi"),
]


def test_every_study_is_drawn(tmp_path: Path) -> None:
    for study in ("boundaries", "pareto", "scaling"):
        pytest.importorskip("matplotlib")
        draw_study(study, ROWS, tmp_path / "study.png")
        assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")


def test_the_front_is_what_no_point_beats() -> None:
    points = [(1.0, 1.50), (2.0, 1.48), (4.0, 1.56), (2.5, 1.46), (5.1, 1.47), (6.0, 1.60), (6.0, 1.59)]
    assert pareto_front(points) == [(2.5, 1.46), (5.1, 1.47), (6.0, 1.59)]
