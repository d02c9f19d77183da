from pathlib import Path

from sumpool.workflows.show import show
from tests.runs.runs import make_run


def test_a_run_is_described(tmp_path: Path) -> None:
    assert show(make_run(tmp_path / "toy")).summary.name == "toy"
