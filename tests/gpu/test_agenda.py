"""The agenda of GPU measurements: order, limits, failures, and going on where an earlier call stopped."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import agenda
import pytest

RECIPES = Path(__file__).parents[2] / "recipes/gpu"
COUNT = "echo x >> count; echo table; echo '{\"seconds\": 1}' > $RESULT"


def results(folder: Path, *items: str, minutes: float = 1.0, repeat: str | None = None) -> list[dict[str, Any]]:
    options = ["--work", str(folder / "work"), "--out", str(folder / "out"), "--minutes", str(minutes)]
    agenda.main([*options, *(["--repeat", repeat] if repeat else [])], items)
    content: list[dict[str, Any]] = json.loads((folder / "out/agenda.json").read_text())
    return content


def test_failures_and_limits_do_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = ["bad 5 echo oh >&2; exit 3", "", "# a comment", "slow 1 sleep 60 & echo begun; wait", f"good 5 {COUNT}"]
    bad, slow, good = results(tmp_path, *items)
    assert (bad["code"], bad["output"], bad["result"]) == (3, "oh\n", None)
    assert (slow["code"], slow["output"]) == (None, "begun\n")
    assert 1 <= slow["seconds"] < 10
    assert (good["code"], good["output"], good["result"]) == (0, "table\n", {"seconds": 1})
    text = (tmp_path / "out/agenda.txt").read_text()
    assert "bad: failed with code 3 after" in text
    assert "slow: stopped at its limit after" in text
    assert re.search(r"good: done after .*\n\$ .*\ntable\n", text)


def test_what_has_ended_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = (f"first 5 {COUNT}", f"long 600 {COUNT}", f"short-1 5 {COUNT}")
    assert [record["name"] for record in results(tmp_path, *items)] == ["first", "short-1"], "long does not fit"
    assert (tmp_path / "count").read_text() == "x\n" * 2
    assert [record["name"] for record in results(tmp_path, *items, minutes=11)] == ["first", "long", "short-1"]
    assert (tmp_path / "count").read_text() == "x\n" * 3
    results(tmp_path, *items, repeat="first")
    assert (tmp_path / "count").read_text() == "x\n" * 4


def test_half_written_json_is_no_result(tmp_path: Path) -> None:
    (record,) = results(tmp_path, "one 5 echo '{' > $RESULT")
    assert (record["code"], record["result"]) == (0, None)


def test_a_signal_ends_the_command(tmp_path: Path) -> None:
    options = ["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    command = [sys.executable, str(RECIPES / "agenda.py"), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(f"one 600 echo $$ > {tmp_path}/pid; sleep 600\n")
        process.stdin.close()
        assert "one: at most 600" in process.stderr.readline()
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text().strip():
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_wrong_items_are_refused() -> None:
    for lines, message in (
        (["tests pytest"], "an item must be a name, whole seconds and a command, got 'tests pytest'"),
        (["tests 60"], "an item must be a name, whole seconds and a command"),
        (["a/b 60 true"], "an item must be a name, whole seconds and a command"),
        (["a 60 true", "a 60 false"], "names of items must differ, got a twice"),
    ):
        with pytest.raises(SystemExit, match=message):
            agenda.read_items(lines)


@pytest.mark.parametrize("sizes", ["", "tiny"])
def test_the_items_of_the_recipe_are_known_commands(sizes: str, tmp_path: Path) -> None:
    """Replaces Python by a program that keeps the items instead of running them."""
    program = tmp_path / "bin/python3"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncat > "{tmp_path}/items"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    script = ["bash", str(RECIPES / "agenda.sh"), str(tmp_path), str(tmp_path / "out")]
    subprocess.run(script, check=True, env=os.environ | {"PATH": path, "SIZES": sizes})
    items = agenda.read_items((tmp_path / "items").read_text().splitlines())
    assert len(items) == 15
    assert all(item.seconds <= 540 for item in items), "a call of ten minutes must be enough for each"
    assert all(
        "$RESULT" in item.command
        for item in items
        if "sumpool bench" in item.command or "sumpool study" in item.command
    )
