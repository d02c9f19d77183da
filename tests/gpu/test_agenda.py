"""The agenda of GPU measurements: limits, failures, and going on where an earlier call stopped."""

import os
import subprocess
from pathlib import Path

import pytest

AGENDA = Path(__file__).parents[2] / "recipes/gpu/agenda.sh"


@pytest.mark.parametrize("sizes", ["", "tiny"])
def test_items_are_run_once_within_the_time(sizes: str, tmp_path: Path) -> None:
    """Replaces Python by a program that writes a result, and fails at the tests."""
    program = tmp_path / "bin/python3"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$*" | tee -a "{tmp_path}/calls"\necho "{{}}" > "$RESULT"\n[ "$2" != pytest ]\n'
    )
    program.chmod(0o755)
    work, out = tmp_path / "work", tmp_path / "out"
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "SIZES": sizes, "WORK": str(work)}

    def run(*options: str) -> list[str]:
        (tmp_path / "calls").unlink(missing_ok=True)
        subprocess.run(["bash", str(AGENDA), str(tmp_path), str(out), *options], check=True, env=environment)
        return (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []

    assert run("--minutes", "0") == []
    few = run("--minutes", "3")
    assert run("--minutes", "9"), "longer items fit now"
    ended = {path.stem: path.read_text().strip() for path in out.glob("*.ended")}
    assert len(ended) == 15
    assert ended["tests"] == "1"
    assert ended["training"] == "0"
    assert "sumpool study" in (out / "operators.log").read_text()
    assert (out / "operators.json").read_text() == "{}\n"
    assert 0 < len(few) < 15
    (work / "operators.ended").unlink()
    (again,) = run()
    assert "study --out" in again
