"""The installed `sumpool`, as a person starts it: a process of its own in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
"""Folder of the script `sumpool`, beside the Python that runs the tests."""


def environment(cache: Path) -> dict[str, str]:
    """Environment of the tests, with the checkout under test in place of an installed package."""
    return os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SUMPOOL_CACHE": str(cache),
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
    }


def run(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run `sumpool WORDS` in a folder, with more variables of the environment if any; it must succeed."""
    return _finish(folder, [str(BIN / "sumpool"), *words], more or {})


def run_line(folder: Path, line: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of a shell, such as one of the README with a pipe, in a folder; all commands in it must succeed."""
    return _finish(folder, ["bash", "-euo", "pipefail", "-c", line], {})


def run_with_imports(folder: Path, *words: str) -> tuple[str, set[str]]:
    """Run `sumpool WORDS` in a folder, and return its output and the modules that it imports."""
    done = run(folder, *words, more={"PYTHONPROFILEIMPORTTIME": "1"})
    timed = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.stdout, {line.rpartition("|")[2].strip() for line in timed}


def _finish(folder: Path, command: list[str], more: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    variables = {**environment(folder / ".cache"), **more}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode or "Traceback" in done.stderr:
        pytest.fail(f"{command} ended with exit code {done.returncode}:\n{done.stderr}", pytrace=False)
    return done
