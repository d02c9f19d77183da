"""Commands leave the folders of everything else as they are, and what another process writes, and exit with 2."""

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import FileDigest, Kind, Manifest
from sumpool.recipe.load import load_recipe
from tests.conftest import TOY, exit_code, write_lines


def listed(kind: Kind, names: Sequence[str], folder: Path) -> None:
    """Fill a folder with files that its manifest lists."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the content of {name}\n")
    Manifest({name: FileDigest.of(folder / name) for name in names}, kind=kind).write(folder)


def make_run(folder: Path) -> None:
    listed("run", ("recipe.yaml", "tokenizer.model", "report.json", "model.safetensors"), folder)
    listed("checkpoint", ("state.json",), folder / "checkpoints" / "step-00000001")


def make_app(folder: Path) -> None:
    folder.mkdir()
    (folder / "manifest.json").write_text('{"name": "an app", "icons": []}')
    (folder / "index.html").write_text("<p>precious</p>")


def make_files(folder: Path) -> None:
    folder.mkdir()
    for name in ("recipe.yaml", "documents.jsonl", "summaries.jsonl", "table.md", "report.json"):
        (folder / name).write_text("precious")


make_prepared = partial(listed, "prepared data", ("report.json", "train/texts.jsonl", "tokenizer.model"))
make_sweep = partial(listed, "sweep", ("table.md", "table.json"))
make_evaluation = partial(listed, "evaluation", ("documents.jsonl", "evaluation.json", "report.json"))


def damaged(make: Callable[[Path], None], name: str) -> Callable[[Path], None]:
    def make_and_damage(folder: Path) -> None:
        make(folder)
        (folder / name).write_text((folder / name).read_text().swapcase())

    return make_and_damage


FOLDERS: dict[str, Callable[[Path], None]] = {
    "run": make_run,
    "prepared": make_prepared,
    "evaluation": make_evaluation,
    "sweep": make_sweep,
    "app": make_app,
    "files": make_files,
    "damaged prepared": damaged(make_prepared, "train/texts.jsonl"),
    "damaged evaluation": damaged(make_evaluation, "documents.jsonl"),
    "damaged sweep": damaged(make_sweep, "table.md"),
    "damaged manifest": damaged(make_run, "manifest.json"),
}
EVALUATE = ("evaluate", "ours.jsonl", "--references", "references.jsonl")
COMMANDS: dict[str, Sequence[str]] = {
    "prepare": ("prepare", "toy.yaml", "--set", "data.prepared=FOLDER"),
    "prepare for training": ("train", "toy.yaml", "--set", "data.prepared=FOLDER"),
    "train": ("train", "toy.yaml", "--out", "FOLDER"),
    "sweep": ("train", "sweep.yaml", "--out", "FOLDER"),
    "export": ("export", "run", "FOLDER"),
    "import": ("import", "bart", "FOLDER"),
    "evaluate": (*EVALUATE, "--out", "FOLDER"),
    "evaluate --resume": (*EVALUATE, "--resume", "--out", "FOLDER"),
    "summarize": ("summarize", "doc.txt", "--fast", "--out-dir", "FOLDER"),
    "study": ("study", "complexity", "--out", "FOLDER/manifest.json"),
}
OWN = {"prepare": "prepared", "prepare for training": "prepared", "train": "run", "sweep": "sweep"}
OWN |= {"evaluate": "evaluation", "evaluate --resume": "evaluation"}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the commands read."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{number}", "document": "Hosts send.", "summary": "Hosts."} for number in range(30)]
    for name in ("rows.jsonl", "references.jsonl", "ours.jsonl"):
        write_lines(tmp_path / name, rows)
    recipe = TOY.format(folder=tmp_path)
    (tmp_path / "toy.yaml").write_text(recipe)
    (tmp_path / "doc.txt").write_text("Hosts send packets. Gateways drop packets that are too long.")
    load_recipe(tmp_path / "toy.yaml")
    body = "".join(f"  {line}\n" for line in recipe.splitlines() if not line.startswith("name:"))
    (tmp_path / "sweep.yaml").write_text(f"sweep: toy\nsource_tokens: 500\nrecipe:\n{body}rows:\n  first:\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_the_folder_of_something_else_is_refused_untouched(
    place: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("FOLDER", "x") for word in COMMANDS[command]]
    for kind, make in FOLDERS.items():
        if OWN.get(command) == kind or (command == "study" and kind == "files"):
            continue  # its own folder, or a file that is not there
        make(place / "x")
        before = content(place)
        code = exit_code(*words)
        errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert (code, len(errors)) == (2, 1), (kind, errors)
        assert "x" in errors[0]
        assert content(place) == before, kind
        shutil.rmtree(place / "x")


WRITERS: dict[str, Sequence[str]] = {
    "summarize --out": ("summarize", "doc.txt", "--fast", "--out", "x"),
    "summarize --out-dir": ("summarize", "doc.txt", "--fast", "--out-dir", "x"),
    "evaluate": (*EVALUATE, "--out", "x"),
    "study": ("study", "complexity", "--out", "x"),
    "sweep": ("train", "sweep.yaml", "--out", "x"),
}
FILES = {"summarize --out-dir": "x/summaries.jsonl"}
"""Files that are locked instead of `x`."""


@pytest.mark.parametrize("command", WRITERS)
def test_a_second_process_is_refused(place: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = FILES.get(command, "x")
    if command == "summarize --out-dir":  # its folder is made, with a manifest, before the file is locked
        assert exit_code(*WRITERS[command]) == 0
    before = content(place)
    with locked_for_writing(place / target, "name another"):
        assert exit_code(*WRITERS[command]) == 2
    message = f"error: {target} must be written by one process at a time, but process {os.getpid()} is writing it"
    assert message in capsys.readouterr().err
    assert content(place) == before
    if command not in ("sweep", "study"):  # which take long
        assert exit_code(*WRITERS[command]) == 0
        assert not [path for path in place.rglob("*") if ".lock" in path.name]
