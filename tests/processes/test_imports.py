"""Modules that commands import: none that is slow to import, and none of our own that they do not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.cli.app import COMMANDS
from sumpool.cli.recipe_reference import page
from tests.processes.installed import run_with_imports

TEXT = "Hosts send packets. Gateways drop packets that are too long. "
HEAVY = ("nltk", "scipy", "sympy", "sklearn", "torch._dynamo", "filelock", "pyarrow", "transformers")
UNUSED = (
    *("sumpool.inference.summary_choice", "sumpool.inference.summary_file", "sumpool.interpret"),
    *("sumpool.ranking.boosting", "sumpool.ranking.fit", "sumpool.ranking.marks"),
)
"""Modules of generated text, of result files, and of the training of rankers."""

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from sumpool.__main__ import main; main()"


@pytest.mark.parametrize(("text", "heavy"), [(TEXT, ("torch", *HEAVY)), (TEXT * 20, HEAVY)])
def test_summarize_needs_no_heavy_library(tmp_path: Path, text: str, heavy: tuple[str, ...]) -> None:
    """A text that is its own summary does not even need the model."""
    (tmp_path / "document.txt").write_text(text)
    summary, imported = run_with_imports(tmp_path, "summarize", "document.txt")
    assert "packets" in summary
    assert "sumpool.workflows.summarize" in imported
    assert not imported.intersection(heavy)


@pytest.mark.parametrize(("options", "most"), [(("--fast",), 67), ((), 134)])
def test_summarize_imports_what_it_needs(tmp_path: Path, options: tuple[str, ...], most: int) -> None:
    (tmp_path / "document.txt").write_text(TEXT * 20)
    _, imported = run_with_imports(tmp_path, "summarize", "document.txt", *options)
    # The module of the command is not listed, as it is found by its name.
    ours = {name for name in imported if name.partition(".")[0] == "sumpool"}
    assert len(ours) <= most, sorted(ours)
    assert not ours.intersection(UNUSED)
    assert ("sumpool.inference.loading" in ours) == (not options)
    assert not (options and imported & {"torch", "sentencepiece", *HEAVY})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("summarize", "--fast", "long.txt", "--evidence"), "packets"),
        (("summarize", "short.txt", "--explain", "page.html"), "packets"),
        (("summarize", *[f"{number}.txt" for number in range(40)]), "packets"),  # enough for several processes
        (("recipes",), "quickstart"),
        (("summarize", "long.txt"), "error: this summary needs the model, and PyTorch, which is not installed: pip "),
        (("train", "quickstart"), "error: sumpool train needs PyTorch, which is not installed: pip install 'sumpool[t"),
    ],
)
def test_torch_is_needed_by_models_only(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    (tmp_path / "long.txt").write_text(TEXT * 20)
    for name in ("short", *range(40)):
        (tmp_path / f"{name}.txt").write_text(TEXT)
    command = [sys.executable, "-c", WITHOUT_TORCH, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    is_error = told.startswith("error: ")
    assert done.returncode == (2 if is_error else 0), done.stderr
    assert told in (done.stderr.splitlines()[-1] if is_error else done.stdout)


def test_the_reference_of_recipes_needs_no_torch(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "docs/scripts/recipe_reference.py"
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{page()}\n"


@pytest.mark.parametrize("name", ["", *COMMANDS, "help"])
def test_help_imports_no_heavy_library(name: str, tmp_path: Path) -> None:
    words = [name] if name else []
    shown, imported = run_with_imports(tmp_path, *words, "--help")
    assert shown.startswith(f"Usage: {' '.join(['sumpool', *words])} ")
    assert "sumpool.cli.app" in imported
    assert not imported & {"torch", "numpy", "safetensors", *HEAVY}
    assert name or not imported & {f"sumpool.cli.{command}" for command in COMMANDS}


BLOCKED = ("fcntl", "grp", "pwd", "resource", "termios")
IMPORTS = """\
import importlib, pkgutil, sys

for name in {blocked}:
    sys.modules[name] = None  # as on Windows, an import fails
import sumpool.cli, sumpool.workflows

packages = [sumpool.cli, sumpool.workflows]
for package in packages:
    for module in pkgutil.walk_packages(package.__path__, f"{{package.__name__}}."):
        importlib.import_module(module.name)
print(len([name for name in sys.modules if name.startswith("sumpool.")]))
"""


@pytest.mark.slow
def test_every_command_imports_without_modules_of_unix() -> None:
    code = IMPORTS.format(blocked=BLOCKED)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert int(shown.stdout) > 100
