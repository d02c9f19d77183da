"""Commands that write, run in this process on a small model, for the figures of full and failing disks."""

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sumpool.cli.app import main
from tests.conftest import TOY, story

TRAIN = "train: {steps: 2, batch_tokens: 512, validate_every: 1, rouge_documents: 0, device: cpu, precision: fp32}\n"
_ROWS = 40


@dataclass(frozen=True)
class Command:
    """Command that writes.

    Attributes:
        name: Name of the case.
        words: The command line.
        targets: Beginnings of the names of files and folders that it writes in the working directory.
    """

    name: str
    words: Sequence[str]
    targets: tuple[str, ...]


EVALUATE = ("evaluate", "ours.jsonl", "--references", "rows.jsonl", "--set", "evaluate.resamples=100")
COMMANDS = (
    Command("prepare", ("prepare", "toy.yaml", "--set", "data.vocabulary=330"), ("prepared",)),
    Command("train", ("train", "toy.yaml", "--out", "run", "--set", "train.steps=3"), ("run",)),
    Command("summarize", ("summarize", "rows.jsonl", "--fast", "--out", "out.jsonl", "--resume"), ("out.jsonl",)),
    Command("summarize --out-dir", ("summarize", "rows.jsonl", "--fast", "--out-dir", "out"), ("out",)),
    Command("evaluate", (*EVALUATE, "--out", "scores", "--set", "evaluate.lead_words=20"), ("scores", ".scores")),
    Command(
        "report", (*EVALUATE, "--out", "scores", "--resume", "--html", "page.html"), ("page.html", "scores", ".scores")
    ),
    Command("export", ("export", "run", "exported", "--precision", "fp32"), ("exported",)),
)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def base() -> Path:
    """Make a working directory with documents, prepared data, a finished run, summaries and scores, once."""
    folder = Path(_temporary().name) / "base"
    folder.mkdir()
    rows = [
        {"id": f"d{number}", "document": story(number, 12), "summary": story(number, 1)} for number in range(2 * _ROWS)
    ]
    write_rows(folder / "rows.jsonl", rows[:_ROWS])
    ours = [{"id": row["id"], "summary": row["document"][:150]} for row in rows]
    write_rows(folder / "ours.jsonl", ours[:_ROWS])
    (folder / "toy.yaml").write_text(TOY.format(folder=".") + TRAIN)
    (folder / "page.html").write_text("older")
    commands = (
        ("train", "toy.yaml", "--out", "run"),
        ("summarize", "rows.jsonl", "--fast", "--out", "out.jsonl", "--limit", "3"),
        ("summarize", "rows.jsonl", "--fast", "--out-dir", "out", "--limit", "3"),
        (*EVALUATE, "--out", "scores"),
    )
    for words in commands:
        status, errors = run(folder, words)
        assert status == 0, errors
    return folder


def write_rows(path: Path, rows: Sequence[object]) -> None:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def run(folder: Path, words: Sequence[str]) -> tuple[int, list[str]]:
    """Run a command in a folder, and return its exit code and its error lines."""
    output, arguments = io.StringIO(), sys.argv
    status: object = 0
    with chdir(folder), redirect_stdout(io.StringIO()), redirect_stderr(output):
        sys.argv = ["sumpool", *words]
        try:
            main()
        except SystemExit as stop:
            status = stop.code
        except KeyboardInterrupt:
            status = 130
        finally:
            sys.argv = arguments
    lines = output.getvalue().splitlines()
    errors = [number for number, line in enumerate(lines) if line.startswith(("error: ", "Traceback"))]
    return int(str(status or 0)), lines[errors[0] :] if errors else []


def copy(source: Path, folder: Path) -> Path:
    """Copy a working directory, with the times of its files."""
    return Path(shutil.copytree(source, folder))


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
