"""Every variant trained, evaluated, summarised from and benchmarked by processes such as a person starts.

One sweep trains and scores all models, and one process benchmarks them, as importing torch and its compiler takes most
of a process; every model is summarised from by a process of its own.
"""

import json
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import write_lines
from tests.processes.combinations import MODEL, combinations
from tests.processes.installed import run, run_line

pytestmark = pytest.mark.slow

WORDS = "protocol server client packet header network address message link router host port cache route the a in of to"
COMBINATIONS = combinations()
BENCH = """
import sys
from tests.conftest import exit_code
sys.exit(any([exit_code("bench", model) for model in sys.argv[1:]]))
"""


def text(choice: random.Random, sentences: int) -> str:
    return " ".join(" ".join(choice.choices(WORDS.split(), k=9)).capitalize() + "." for _ in range(sentences))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, and runs of a sweep over all combinations after two updates each."""
    folder = tmp_path_factory.mktemp("variants")
    choice = random.Random(1)
    rows = ({"id": f"d{number}", "document": text(choice, 60), "summary": text(choice, 1)} for number in range(24))
    write_lines(folder / "rows.jsonl", rows)
    (folder / "doc.txt").write_text(text(choice, 60))
    source = {"kind": "jsonl", "path": "rows.jsonl", "validation_share": 0.1, "test_share": 0.1}
    data = {"source": source, "prepared": "prepared", "vocabulary": 300, "workers": 1}
    data["phrases"] = 400  # for boundaries of kind unigram
    recipes = [*COMBINATIONS.values()]
    changed = [{"model": settings["model"], "train": settings["train"]} for settings in recipes]
    sweep = {
        "sweep": "all",
        "source_tokens": 1500,  # more than a batch has, which makes two updates
        "recipe": {"data": data, **recipes[0]},
        "rows": {f"m{number}": change for number, change in enumerate(changed)},
    }
    (folder / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    run(folder, "train", "sweep.yaml")
    return folder


@pytest.mark.parametrize("number", range(len(COMBINATIONS)), ids=COMBINATIONS)
def test_variants_are_used_by_every_command(number: int, folder: Path) -> None:
    model = f"runs/all/m{number}-seed1"
    table: dict[str, Any] = json.loads((folder / "runs/all/table.json").read_text())
    assert (table["runs"][number]["row"], table["runs"][number]["failure"]) == (f"m{number}", "")
    assert table["scores"][f"m{number}"], "it must have been evaluated"
    assert (folder / model / "metrics.jsonl").read_text().count('"kind": "step"') == 2
    words = ("summarize", "--model", model, "doc.txt", "--mode", "extractive", "--json")
    summary = json.loads(run(folder, *words).stdout)  # selected by samples, as a greedy summary may have no word
    assert 0 < summary["tokens_read"] <= MODEL["source_length"], "the model must read the document"


def test_variants_are_benchmarked(folder: Path) -> None:
    models = [f"runs/all/m{number}-seed1" for number in range(len(COMBINATIONS))]
    shown = run_line(folder, shlex.join([sys.executable, "-c", BENCH, *models])).stdout
    assert shown.count("encoding, batch 1") == len(models)
