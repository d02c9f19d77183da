"""Every variant trained, evaluated, summarised from and benchmarked, each by a process of its own."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.processes.combinations import MODEL, SETTINGS, Combination, combinations
from tests.processes.installed import run

pytestmark = pytest.mark.slow

WORDS = "protocol server client packet header network address message link router host port cache route the a in of to"


def text(choice: random.Random, sentences: int) -> str:
    return " ".join(" ".join(choice.choices(WORDS.split(), k=9)).capitalize() + "." for _ in range(sentences))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and their prepared data, of which every combination makes use."""
    folder = tmp_path_factory.mktemp("corpus")
    choice = random.Random(1)
    rows = ({"id": f"d{number}", "document": text(choice, 60), "summary": text(choice, 1)} for number in range(30))
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "doc.txt").write_text(text(choice, 60))
    layer = {"attention": {"kind": "vanilla"}}
    write_recipe(folder, folder, SETTINGS | {"model": MODEL | {"encoder": [layer]}})
    run(folder, "prepare", "tiny.yaml")
    return folder


def write_recipe(folder: Path, corpus: Path, settings: dict[str, object]) -> None:
    data = {
        "source": {"kind": "jsonl", "path": f"{corpus}/rows.jsonl", "validation_share": 0.2, "test_share": 0.2},
        "prepared": f"{corpus}/prepared",
        "vocabulary": 300,
        "phrases": 400,  # for boundaries of kind unigram
        "workers": 1,
    }
    (folder / "tiny.yaml").write_text(yaml.safe_dump({"name": "tiny", "data": data, **settings}))


@pytest.mark.parametrize("combination", combinations(), ids=str)
def test_variants_are_used_by_every_command(
    combination: Combination, corpus: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("variants", [str(variant) for variant in combination.variants])  # counted in tests/conftest.py
    write_recipe(tmp_path, corpus, combination.settings)
    run(tmp_path, "train", "tiny.yaml")
    run(tmp_path, "evaluate", "runs/tiny", "--limit", "1")
    words = ("summarize", "--model", "runs/tiny", f"{corpus}/doc.txt", "--mode", "extractive", "--json")
    summary = json.loads(run(tmp_path, *words).stdout)  # selected by samples, as a greedy summary may have no word
    assert 0 < summary["tokens_read"] <= MODEL["source_length"], "the model must read the document"
    record_property("summarised", True)
    assert "encoding and generating 2 tokens" in run(tmp_path, "bench", "runs/tiny").stdout
