"""The commands of the README, one after the other in one folder, with a corpus and models that take no time.

`.ci/wheel.py` runs the same commands from a wheel, on the whole sample.
"""

import tarfile
from pathlib import Path

from sumpool.data.sources import bundled_sample
from tests.processes.installed import ROOT, run_line
from tests.scripts import load_script

TINY = (
    " --set model.dim=32 --set model.feed_forward=64 --set model.source_length=256 --set train.batch_tokens=1024"
    " --set data.vocabulary=400 --set data.source.path=series"
)
SHORT = (
    " --set data.workers=1"
    " --set train.steps=1 --set train.validate_every=1 --set train.validate_documents=2 --set train.rouge_documents=0"
    " --set select.trees=2 --set summarize.beams=1"
)
SHORTER = {
    "sumpool train": SHORT,
    "sumpool train quickstart": TINY,
    "sumpool evaluate": " --limit 2 --set evaluate.resamples=100",
    "sumpool bench": " --length 64 --set bench.workloads=[encode] --set bench.baselines=[]"
    " --set bench.repeats=1 --set bench.seconds=1",
}
"""Options that are appended to commands that begin so."""
RFCS = 25
"""Shortest RFCs of the bundled sample that are taken, of all splits; learning the vocabulary takes most of the time."""
ARTICLES = 12
"""Documents that stand for those of the reader."""


def write_series(folder: Path) -> None:
    """Write the texts and metadata of short bundled RFCs."""
    folder.mkdir()
    with tarfile.open(bundled_sample()) as archive:
        texts = sorted((member for member in archive if member.name.endswith(".txt")), key=lambda member: member.size)
        for text in texts[:RFCS]:
            archive.extract(text, folder, filter="data")
            archive.extract(text.name.replace(".txt", ".json"), folder, filter="data")


def test_the_commands_of_the_readme_run_in_order(tmp_path: Path) -> None:
    write_series(tmp_path / "series")
    script = load_script(".ci/wheel.py")
    commands = script.readme_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) >= 10
    for command in commands:
        if "articles.jsonl" in command and not (tmp_path / "articles.jsonl").exists():
            rows = (tmp_path / "prepared/sample/train/texts.jsonl").read_bytes().splitlines(keepends=True)
            (tmp_path / "articles.jsonl").write_bytes(b"".join(rows[:ARTICLES]))
        shown = run_line(tmp_path, script.shortened(command, SHORTER))
        assert shown.stdout
