"""`sumpool --help`, and the help of every command, as processes of their own."""

from pathlib import Path

import pytest

from sumpool.cli.app import COMMANDS
from tests.processes.installed import run_with_imports

NAMES = (*COMMANDS, "help")


HEAVY = {"torch", "numpy", "scipy", "nltk", "safetensors"}


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_imports_no_heavy_library(name: str, tmp_path: Path) -> None:
    words = [name] if name else []
    shown, imported = run_with_imports(tmp_path, *words, "--help")
    assert shown.startswith(f"Usage: {' '.join(['sumpool', *words])} ")
    assert "sumpool.cli.app" in imported
    assert not HEAVY & imported
    assert name or not imported & {f"sumpool.cli.{command}" for command in COMMANDS}
