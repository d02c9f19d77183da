import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

CI = Path(__file__).parents[2] / ".ci"


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with another baseline and models that cost what is easily written down."""
    specification = importlib.util.spec_from_file_location("counts", CI / "counts.py")
    assert specification
    assert specification.loader
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    monkeypatch.setattr(script, "BASELINE", tmp_path / "counts.json")
    monkeypatch.setattr(script, "count_model", lambda config, _conditions: {"encode calls": len(config.encoder)})
    return script


def test_what_was_accepted_passes(counts: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert counts.main(accept=True) == 0
    assert counts.main(accept=False) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("old", "sentence"), [(2, "grew from 2 to 3 (+50.0%)"), (4, "shrank from 4 to 3 (-25.0%)")])
def test_what_changed_is_said_and_how_to_accept_it(
    counts: ModuleType, capsys: pytest.CaptureFixture[str], old: int, sentence: str
) -> None:
    counts.main(accept=True)
    accepted = json.loads(counts.BASELINE.read_text())
    counts.BASELINE.write_text(json.dumps(accepted | {"quickstart.yaml": {"encode calls": old}}))
    assert counts.main(accept=False) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"quickstart.yaml: encode calls {sentence}",
        "1 counts are no longer those of .ci/counts.json; to accept them: .venv/bin/python .ci/counts.py --accept",
    ]


def test_the_committed_baseline_is_of_the_same_recipes_and_torch(counts: ModuleType) -> None:
    before = json.loads((CI / "counts.json").read_text())
    assert list(before) == ["torch", *counts.RECIPES]
    assert f"torch=={before['torch']}\n" in (CI.parent / "constraints.txt").read_text()


def test_the_script_is_run() -> None:
    assert ".venv/bin/python .ci/counts.py\n" in (CI / "run").read_text()
