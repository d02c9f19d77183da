"""A second process that writes the same file or folder is refused with the id of the first, and nothing is changed."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from sumpool.io.lock import locked_for_writing
from tests.conftest import exit_code
from tests.test_foreign_folders import content, place

__all__ = ["place"]

COMMANDS: dict[str, Sequence[str]] = {
    "summarize --out": ("summarize", "doc.txt", "--fast", "--out", "x"),
    "summarize --out-dir": ("summarize", "doc.txt", "--fast", "--out-dir", "x"),
    "evaluate": ("evaluate", "ours.jsonl", "--references", "references.jsonl", "--out", "x"),
    "study": ("study", "complexity", "--out", "x"),
    "sweep": ("train", "sweep.yaml", "--out", "x"),
}
FILES = {"summarize --out-dir": "x/summaries.jsonl"}
"""Files that are locked instead of `x`."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_second_process_is_refused(place: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = FILES.get(command, "x")
    if command == "summarize --out-dir":  # its folder is made, with a manifest, before the file is locked
        assert exit_code(*COMMANDS[command]) == 0
    before = content(place)
    with locked_for_writing(place / target, "name another"):
        assert exit_code(*COMMANDS[command]) == 2
    message = f"error: {target} must be written by one process at a time, but process {os.getpid()} is writing it"
    assert message in capsys.readouterr().err
    assert content(place) == before
    if command not in ("sweep", "study"):  # which take long
        assert exit_code(*COMMANDS[command]) == 0
        assert not [path for path in place.rglob("*") if ".lock" in path.name]
