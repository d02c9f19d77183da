import json
import random
from pathlib import Path

import pytest

from sumpool.errors import DataError, RecipeError
from tests.cli.conftest import run
from tests.conftest import write_lines

RECIPE = """\
name: films
task: classification
data: {source: {kind: labelled, path: rows.jsonl, validation_share: 0.2, test_share: 0.2}, units: words, workers: 1}
model: {dim: 16, heads: 2, feed_forward: 16, source_length: 16, encoder: [{attention: {kind: vanilla}}]}
train: {steps: 60, batch_tokens: 300, learning_rate: 0.01, device: cpu}
"""


@pytest.fixture(scope="module")
def corner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained classifier."""
    folder = tmp_path_factory.mktemp("corner")
    draw = random.Random(1)
    rows = []
    for number in range(100):
        text = " ".join(["good" if number % 2 else "bad", *draw.choices(["film", "scene", "plot"], k=5), str(number)])
        rows.append({"id": f"d{number}", "text": text, "label": "fine\x1b[1m" if number % 2 else "poor"})
    write_lines(folder / "rows.jsonl", rows)
    (folder / "films.yaml").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = run("train", "films.yaml")
        assert result.exit_code == 0, result.output
        assert "next: sumpool classify --model runs/films doc.txt; sumpool evaluate runs/films" in result.output
    return folder


@pytest.fixture(autouse=True)
def inside(corner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corner)


def test_labels_are_printed_with_probabilities_and_escaped() -> None:
    result = run("classify", "--model", "runs/films", stdin="A bad film, bad plot.")
    assert result.exit_code == 0, result.output
    name, label, probability = result.stdout.strip().split("\t")
    assert (name, label) == ("-", "poor")
    assert 0.5 < float(probability) <= 1
    long = run("classify", stdin="good film " * 15)
    assert "fine\\u001b[1m" in long.stdout
    assert "\x1b" not in long.stdout
    assert "-: read 16 of 30 tokens" in long.stderr


def test_a_document_without_a_label_fails_at_the_end() -> None:
    Path("none.jsonl").touch()
    assert str(run("classify", "none.jsonl").exception) == "none.jsonl must hold documents, got none"
    Path("mixed.jsonl").write_text('{"text": "good"}\n{"text": 3}\n{"text": "bad"}\n')
    result = run("classify", "mixed.jsonl")
    assert len(result.stdout.splitlines()) == 2
    assert isinstance(result.exception, DataError)
    assert "1 of 3 documents have no label; see the reasons above" in str(result.exception)
    assert "mixed.jsonl:2 'text' must be text, got int" in result.stderr


def test_evaluate_prints_scores_and_confusion() -> None:
    result = run("evaluate", "runs/films", "--split", "validation")
    assert result.exit_code == 0, result.output
    assert "accuracy" in result.stdout
    assert "macro F1" in result.stdout
    assert "label \\ predicted" in result.stdout
    assert "\x1b" not in result.stdout
    scores = json.loads(run("evaluate", "--json", "--limit", "5").stdout)
    assert scores["documents"] == 5


def test_options_of_summaries_are_refused() -> None:
    result = run("evaluate", "runs/films", "--html", "page.html")
    assert isinstance(result.exception, RecipeError)
    assert "a classifier must be evaluated with --split, --limit, --out, --json and --set only" in str(result.exception)


def test_show_and_dry_run_describe_a_classifier() -> None:
    shown = run("show", "runs/films").stdout
    assert "classification" in shown
    assert "fine\\u001b[1m 50, poor 50" in shown
    assert "summary" not in shown
    assert "summary" not in run("train", "films.yaml", "--dry-run").stdout
