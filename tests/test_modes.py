"""Files have the permissions that the umask of the user leaves, whichever command writes them."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sumpool.cli.app import main
from tests.conftest import TOY, write_rows
from tests.pretrained.originals import random_bart
from tests.text.bart import learn
from tests.workflows.test_import_model import save, size

TRAIN = "train: {steps: 2, batch_tokens: 256, validate_every: 1, rouge_documents: 2, device: cpu, precision: fp32}\n"
BENCH = ("bench.generate=2", "bench.target=4", "bench.repeats=1", "bench.workloads=[encode]")
COMMANDS = (
    ("prepare", "toy.yaml"),
    ("train", "toy.yaml", "--out", "run", "--log", "tensorboard"),
    ("export", "run", "exported"),
    ("prune", "run", "--heads", "0.3", "--out", "pruned"),
    ("evaluate", "run", "--html", "a.html", "--latex", "a.tex", "--csv", "a.csv", "--set", "evaluate.resamples=100"),
    ("summarize", "doc.txt", "--model", "run", "--out", "out.jsonl"),
    ("summarize", "doc.txt", "--model", "run", "--fast", "--out-dir", "out"),
    ("summarize", "doc.txt", "--model", "run", "--explain", "page.html"),
    ("init", "rows.jsonl", "--out", "rows.yaml"),
    ("import", "bart", "imported"),
    ("train", "sweep.yaml", "--out", "sweep"),
    (
        "bench",
        "toy.yaml",
        "--out",
        "bench.json",
        "--length",
        "32",
        *(word for name in BENCH for word in ("--set", name)),
    ),
)


@pytest.fixture
def mask() -> Iterator[int]:
    before = os.umask(0o077)
    yield 0o077
    os.umask(before)


def test_every_writer_keeps_the_umask(tmp_path: Path, mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.jsonl", seed=1, count=60)
    first = json.loads((tmp_path / "rows.jsonl").read_text().split("\n")[0])
    (tmp_path / "doc.txt").write_text(first["document"])
    (tmp_path / "toy.yaml").write_text(TOY.format(folder=tmp_path) + TRAIN)
    body = "".join(f"  {line}\n" for line in TOY.format(folder=tmp_path).splitlines() if not line.startswith("name:"))
    body += "  train: {batch_tokens: 256, rouge_documents: 0, device: cpu, precision: fp32}\n"
    body += "  evaluate: {resamples: 100}\n"
    (tmp_path / "sweep.yaml").write_text(f"sweep: toy\nsource_tokens: 500\nrecipe:\n{body}rows:\n  first:\n")
    words = size(learn([first["document"]] * 20, tmp_path / "vocabulary"))
    save(random_bart(1, vocab_size=words), tmp_path / "vocabulary", tmp_path / "bart")
    for command in COMMANDS:
        monkeypatch.setattr(sys, "argv", ["sumpool", *command])
        with suppress(SystemExit):
            main()
    expected = {True: 0o777 & ~mask, False: 0o666 & ~mask}
    modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    written = {
        "run",
        "exported",
        "pruned",
        "a.html",
        "a.tex",
        "a.csv",
        "out.jsonl",
        "out",
        "page.html",
        "rows.yaml",
        "prepared",
    }
    written |= {"imported", "first-seed1", "table.md", "bench.json"}
    assert written <= {path.name for path in modes}
    wrong = {str(path): oct(mode) for path, mode in modes.items() if mode != expected[path.is_dir()]}
    assert wrong == {}
