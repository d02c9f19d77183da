import shutil
import subprocess
import sys
from pathlib import Path

from sumpool.io.manifest import SHIPPED

TEXT = "This memo describes a protocol that routers speak. It is not a standard. Hosts need not implement it."


def sumpool(folder: Path, *words: str, status: int = 0) -> tuple[str, str]:
    """Run a command as a user does, and return what it prints and its messages."""
    command = [sys.executable, "-m", "sumpool", *words]
    done = subprocess.run(command, cwd=folder, input=TEXT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_a_run_in_the_folder_replaces_the_shipped_model_when_it_is_used(tmp_path: Path) -> None:
    assert sumpool(tmp_path, "use") == ("model: shipped (no run in runs)\n", "")
    shutil.copytree(SHIPPED, tmp_path / "runs" / "mine")
    named = "model: shipped (take runs/mine by --model or `sumpool use`)"
    assert named in sumpool(tmp_path, "summarize", "--fast")[1]
    assert sumpool(tmp_path, "use", "runs/mine")[0] == "model: runs/mine (marked by `sumpool use`)\n"
    assert "model: runs/mine (marked" in sumpool(tmp_path, "summarize", "--fast")[1]
    assert "model: shipped\n" in sumpool(tmp_path, "summarize", "--fast", "--model", "shipped")[1]
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == ["mine"]
    assert sumpool(tmp_path, "use", "shipped")[0] == f"{named}\n"


def test_errors_name_the_option_and_the_shipped_model(tmp_path: Path) -> None:
    error = "error: --length must be auto, short, medium, long, or like 150w (words), 5s"
    assert sumpool(tmp_path, "summarize", "--length", "10", status=2)[1].startswith(error)
    for words in (["--set", "summarize.beams=0"], ["--model", "shipped", "--set", "summarize.beams=0"]):
        message = sumpool(tmp_path, "summarize", *words, status=2)[1]
        assert message == "error: shipped/recipe.yaml: summarize.beams must be at least 1, got 0\n"
    assert sumpool(tmp_path, "show", "shipped")[0].split()[2:4] == ["run", "shipped"]
