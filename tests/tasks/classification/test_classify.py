"""Classification as a command sees it: from labelled rows to a run folder, its evaluation, and labels of documents."""

import json
import random
from pathlib import Path

import pytest

from sumpool.documents.document import ReadOptions
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.evaluation.task import Results
from sumpool.inference.loading import load_model
from sumpool.inference.run_files import models_of, newest_run, task_of
from sumpool.progress import Progress
from sumpool.recipe.load import dump_recipe, load_recipe
from sumpool.tasks.classification.classify import classify, evaluate_classifier
from sumpool.workflows.sweep import LoadedSweep, forecast, load_sweep, sweep
from sumpool.workflows.train import dry_run, train
from tests.conftest import write_lines

OPTIONS = ReadOptions(trained_field="text")
RECIPE = """
name: toy
task: classification
data:
  source: {{kind: labelled, path: rows.jsonl, validation_share: 0.2, test_share: 0.2{pair}}}
  units: words
  workers: 1
model:
  dim: 16
  heads: 2
  feed_forward: 16
  source_length: 12
  encoder: [{{attention: {{kind: vanilla}}, pool: {{kind: halving, keep: 6}}}}, {{attention: {{kind: vanilla}}}}]
  classifier: {{towers: {towers}}}
train:
  steps: 150
  batch_tokens: 400
  learning_rate: 0.01
  validate_every: 50
  select_by: loss
  device: cpu
  precision: fp32
evaluate: {{resamples: 100}}
"""


def row(number: int) -> dict[str, object]:
    draw = random.Random(number)
    words = draw.choices(["film", "scene", "actor", "plot"], k=6)
    return {
        "id": f"d{number}",
        "text": " ".join(["good" if number % 2 else "bad", *words, str(number)]),
        "other": f"{'good' if number % 3 else 'bad'} {number}",
        "label": number % 2,
    }


def write_recipe(folder: Path, *, pairs: bool = False) -> Path:
    write_lines(folder / "rows.jsonl", map(row, range(120)))
    text = RECIPE.format(pair=", second: other" if pairs else "", towers=1 + pairs)
    (folder / "toy.yaml").write_text(text.replace("rows.jsonl", str(folder / "rows.jsonl")))
    return folder / "toy.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder whose rows are single documents."""
    folder = tmp_path_factory.mktemp("classifier")
    recipe = load_recipe(write_recipe(folder), [f"data.prepared={folder / 'prepared'}"])
    return train(recipe, folder / "runs" / "toy")


def test_a_classifier_learns_and_is_evaluated(run: Path) -> None:
    report = evaluate_classifier([run])
    assert report.accuracy.mean == 1.0
    assert report.accuracy.low > 0.7
    assert sum(map(sum, report.confusion)) == report.documents
    assert [of.label for of in report.classes] == ["0", "1"]
    lines = (run / "evaluation" / "test" / "documents.jsonl").read_text().splitlines()
    assert len(lines) == report.documents
    first = json.loads(lines[0])
    assert first["label"] == first["predicted"] == str(int(first["id"][1:]) % 2)
    assert json.loads((run / "evaluation" / "test" / "report.json").read_text())["documents"] == report.documents
    fewer = evaluate_classifier([run], "train", limit=10, results=Results(run.parent.parent / "other"))
    assert fewer.documents == 10
    with pytest.raises(RecipeError, match="the limit must be at least 1 document, got 0"):
        evaluate_classifier([run], limit=0)
    with pytest.raises(CheckpointError, match="must be a run of task: summarization, got task: classification, for"):
        load_model(run)


def test_a_run_folder_is_complete_and_finished(run: Path) -> None:
    assert task_of(run) == "classification"
    assert json.loads((run / "labels.json").read_text()) == {"labels": ["0", "1"]}
    card = (run / "README.md").read_text()
    assert f"sumpool classify --model {run} doc.txt" in card
    assert "| label 0 |" in card
    validations = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["accuracy"] for line in validations if line["kind"] == "validation"][-1] == 1.0
    assert not (run / "ranker.safetensors").exists()
    recipe = load_recipe(run)
    reports: list[Progress] = []
    assert train(recipe, run, report=reports.append) == run
    assert any("is finished" in report.note for report in reports)
    assert "task: classification" in dump_recipe(recipe)


def test_rows_are_classified_in_order_and_files_as_documents(run: Path, tmp_path: Path) -> None:
    rows = [row(number) for number in range(200, 230)]
    path = tmp_path / "new.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in rows) + '{"id": "bad", "other": "x"}\n{\n')
    predictions = list(classify([str(path)], run, options=OPTIONS))
    assert [prediction.id for prediction in predictions] == [*(entry["id"] for entry in rows), "bad", f"{path}:32"]
    assert [prediction.label for prediction in predictions] == [*(str(entry["label"]) for entry in rows), "", ""]
    assert predictions[-2].reason == f"{path}:31 must have a field 'text', got 'id', 'other'"
    assert sum(predictions[0].probabilities.values()) == pytest.approx(1)
    line = json.loads(predictions[0].as_json())
    assert line["probability"] == pytest.approx(max(predictions[0].probabilities.values()), abs=1e-6)
    path = tmp_path / "review.txt"
    path.write_text("good film scene actor " * 10)
    (prediction,) = classify([str(path)], run, options=OPTIONS)
    assert (prediction.label, prediction.tokens_read, prediction.tokens_total) == ("1", 12, 40)


def test_batches_and_order_never_change_a_prediction(run: Path, tmp_path: Path) -> None:
    entries = [row(number) | {"text": " ".join(["good film"] * number)} for number in range(1, 8)]
    together, apart = tmp_path / "all.jsonl", tmp_path / "one.jsonl"
    write_lines(together, reversed(entries))
    expected = {prediction.id: prediction.log_probs for prediction in classify([str(together)], run, options=OPTIONS)}
    for entry in entries:
        apart.write_text(json.dumps(entry))
        (prediction,) = classify([str(apart)], run, options=OPTIONS)
        assert prediction.log_probs == pytest.approx(expected[prediction.id], rel=1e-5, abs=1e-5)


def test_the_newest_run_of_the_task_is_chosen(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parents[1])
    assert [newest_run("classification"), *models_of()] == [Path("runs/toy")] * 2
    with pytest.raises(CheckpointError, match="must hold a trained model, got none; run `sumpool train quickstart`"):
        newest_run()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="must hold a trained classifier, got none; train a recipe with task:"):
        newest_run("classification")


def test_a_dry_run_measures_an_update(tmp_path: Path) -> None:
    measured = dry_run(load_recipe(write_recipe(tmp_path), [f"data.prepared={tmp_path / 'prepared'}"]))
    assert measured.target_tokens == 1
    assert measured.source_tokens == 8


def test_a_sweep_of_classifiers_has_their_accuracy(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, pairs=True).read_text().replace("name: toy\n", "").replace("  steps: 150\n", "")
    indented = recipe.replace("\n", "\n  ")
    rows = "{tokens: {model.classifier.mean_over: tokens}, padding: {model.classifier.mean_over: source_length}}"
    (tmp_path / "sweep.yaml").write_text(f"sweep: s\nsource_tokens: 3000\nrecipe:\n  {indented}\nrows: {rows}\n")
    loaded = load_sweep(tmp_path / "sweep.yaml", [f"data.prepared={tmp_path / 'prepared'}"])
    assert isinstance(loaded, LoadedSweep)
    assert [failure for *_, failure in forecast(loaded)] == ["", ""]
    table = sweep(loaded, tmp_path / "s")
    columns, lines = table.table()
    assert columns[2] == "accuracy %"
    assert {len(line) for line in lines} == {len(columns)}
    for name, scores in table.scores.items():
        report = json.loads((tmp_path / "s" / f"{name}-seed1" / "evaluation/validation/report.json").read_text())
        assert scores["accuracy %"][0].mean == pytest.approx(report["accuracy"]["mean"])
    assert sweep(loaded, tmp_path / "s").scores == table.scores
    (tmp_path / "review.txt").write_text("good film")
    with pytest.raises(DataError, match=r"review\.txt must be JSON lines with two documents per row, got"):
        list(classify([str(tmp_path / "review.txt")], tmp_path / "s" / "tokens-seed1", options=OPTIONS))
