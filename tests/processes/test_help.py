"""`sumpool --help`, and the help of every command, as processes of their own."""

from pathlib import Path

import pytest

from sumpool.cli.app import app
from tests.processes.installed import run

NAMES = sorted(command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands)


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_imports_no_torch(name: str, tmp_path: Path) -> None:
    shown = run(tmp_path, *filter(None, [name]), "--help", more={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert "sumpool.cli.app" in imported
    assert "torch" not in imported
    assert shown.stdout.startswith(f"Usage: {' '.join(filter(None, ['sumpool', name]))} ")
