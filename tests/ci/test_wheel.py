import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import load_script

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script() -> ModuleType:
    return load_script(".ci/wheel.py")


def test_the_commands_of_the_readme_are_found(script: ModuleType) -> None:
    commands = script.readme_commands((ROOT / "README.md").read_text())
    assert commands[0] == "sumpool sample RFC2587 | sumpool summarize"
    assert "sumpool train quickstart" in commands
    assert len(commands) >= 10
    assert not any("#" in command for command in commands)


def test_missing_and_foreign_files_are_reported(script: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "sumpool-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tests/test_x.py", "")
        archive.writestr("sumpool-0.1.0.dist-info/licenses/LICENSE", "")
        archive.writestr("sumpool-0.1.0.dist-info/METADATA", "[guide](docs/data.md), [paper](https://example.org)")
    problems = script.content_problems(wheel)
    assert "must hold sumpool/recipes/quickstart.yaml" in problems
    assert "must hold dist-info/licenses/sumpool/data/sample/NOTICE" in problems
    assert "must not hold tests/test_x.py" in problems
    assert [problem for problem in problems if "link" in problem] == ["must link to an address, got docs/data.md"]
    assert "must hold dist-info/licenses/LICENSE" not in problems
