"""How much of the package one command needs, and which libraries stay out of it."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUMMARIZE_FILES = 70
"""Files that each module of `SUMMARIZE_MODULES` reaches by import statements, itself included."""
SUMMARIZE_MODULES = ("sumpool.workflows.summarize", "sumpool.inference.summaries")
"""The workflow, and the summaries of a model, which the workflow loads by name."""


def file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def imported_modules(path: Path) -> Iterator[str]:
    """Names that may be modules of the package, wherever in the file they are imported."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def closure(module: str) -> set[Path]:
    """Files of the package that a module reaches by import statements."""
    reached: set[Path] = set()
    waiting = [module]
    while waiting:
        path = file_of(waiting.pop())
        if path and path not in reached:
            reached.add(path)
            waiting += [name for name in imported_modules(path) if name.split(".")[0] == "sumpool"]
    return reached


@pytest.mark.parametrize("module", SUMMARIZE_MODULES)
def test_summarize_needs_few_files(module: str) -> None:
    files = closure(module)
    assert len(files) <= SUMMARIZE_FILES, "\n".join(sorted(str(path.relative_to(ROOT)) for path in files))


TEXT = "Hosts send packets. Gateways drop packets that are too long. "
HEAVY = ("nltk", "scipy", "sympy", "sklearn", "torch._dynamo", "filelock", "pyarrow", "transformers")


@pytest.mark.parametrize(("text", "heavy"), [(TEXT, ("torch", *HEAVY)), (TEXT * 20, HEAVY)])
def test_summarize_needs_no_heavy_library(tmp_path: Path, text: str, heavy: tuple[str, ...]) -> None:
    """A text that is its own summary does not even need the model."""
    (tmp_path / "document.txt").write_text(text)
    code = f"""
import sys
sys.argv = ["sumpool", "summarize", "document.txt"]
from sumpool.cli.app import main
try:
    main()
finally:
    print([name for name in {heavy} if sys.modules.get(name)], file=sys.stderr)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert "packets" in shown.stdout
    assert shown.stderr.endswith("[]\n")
