import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.scores import REPORT, SCORES
from sumpool.evaluation.task import Results
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress
from sumpool.tasks.language_modeling import evaluate as workflow
from sumpool.tasks.language_modeling.evaluate import (
    TextWindow,
    evaluate_language_models,
    load_language_model,
    read_windows,
    score_text,
)
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.workflows.train import train
from tests.tasks.language_modeling.test_loading import folder, recipe

pytestmark = pytest.mark.slow

__all__ = ["folder"]
SETTINGS = ["evaluate.resamples=100"]


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    of_run = recipe(folder, {"kind": "whitespace"})
    return train(of_run, folder / "evaluated")


def test_results_are_a_folder_with_manifest(run: Path) -> None:
    reports: list[Progress] = []
    evaluation = evaluate_language_models([run], overrides=SETTINGS, report=reports.append)
    (report,) = evaluation.reports.values()
    results = run / "evaluation" / "test"
    manifest = Manifest.read(results, "evaluation")
    manifest.verify(results, manifest.files)
    assert json.loads((results / REPORT).read_text())["bpc"]["mean"] == report.bpc.mean
    assert len(read_windows(results)) == report.windows == len((results / SCORES).read_text().splitlines())
    assert reports[-1].done == reports[-1].total == report.windows
    text = "".join(report.sample)
    assert all(segment.endswith(" ") for segment in report.sample[:-1])
    assert text in (run.parent / "text.txt").read_text()


def test_results_are_replaced_but_nothing_else(run: Path, tmp_path: Path) -> None:
    first = evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=tmp_path / "results"))
    again = evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=tmp_path / "results"))
    assert first.to_json() == again.to_json()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(RecipeError, match="choose another --out"):
        evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=tmp_path / "other"))


def test_a_stopped_evaluation_goes_on(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=tmp_path / "whole"))
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt

    settings = [*SETTINGS, "evaluate.batch_tokens=64"]
    with pytest.raises(KeyboardInterrupt):
        evaluate_language_models([run], overrides=settings, results=Results(folder=tmp_path / "stopped"), check=stop)
    scored: list[int] = []

    def count(model: LanguageModel, text: np.ndarray, windows: Sequence[TextWindow], **named: Any) -> Any:  # noqa: ANN401
        scored.append(len(windows))
        return score_text(model, text, windows, **named)

    monkeypatch.setattr(workflow, "score_text", count)
    resumed = evaluate_language_models(
        [run], overrides=settings, results=Results(folder=tmp_path / "stopped", resume=True)
    )
    (expected,), (result,) = whole.reports.values(), resumed.reports.values()
    assert 0 < scored[0] < expected.windows
    assert result.bpc.mean == pytest.approx(expected.bpc.mean, rel=1e-6)
    with pytest.raises(DataError, match="must hold the same windows to go on"):
        evaluate_language_models(
            [run], overrides=["evaluate.step=4"], results=Results(folder=tmp_path / "stopped", resume=True)
        )


def test_protocols_have_their_windows(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    (whole,) = evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=out)).reports.values()
    released = evaluate_language_models(
        [run], overrides=[*SETTINGS, "evaluate.protocol=released"], results=Results(folder=out)
    )
    (scores,) = released.reports.values()
    tokens = len(load_language_model(run).tokenizer.encode_batch([(run.parent / "text.txt").read_text()])[0])
    assert whole.tokens > scores.tokens
    assert scores.tokens % 16 == 0
    assert scores.protocol == "released"
    assert whole.tokens < tokens


def test_a_limit_takes_the_first_windows(run: Path, tmp_path: Path) -> None:
    (report,) = evaluate_language_models(
        [run], overrides=SETTINGS, limit=7, results=Results(folder=tmp_path / "few")
    ).reports.values()
    assert (report.windows, report.tokens) == (7, 7 * 8)


def test_models_of_one_text_are_compared(run: Path, folder: Path) -> None:
    other = train(recipe(folder, {"kind": "fixed", "size": 3}), folder / "compared")
    evaluation = evaluate_language_models([run, other], overrides=SETTINGS)
    (difference,) = evaluation.differences
    means = [report.bpc.mean for report in evaluation.reports.values()]
    assert difference.bpc.difference.mean == pytest.approx(means[0] - means[1])
    assert set(json.loads(evaluation.to_json())) == {"models", "differences"}
    with pytest.raises(RecipeError, match="--out must come with one run, got 2"):
        evaluate_language_models([run, other], results=Results(folder=folder / "both"))


def test_a_split_without_two_tokens_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "windows_of", lambda *_: [])
    with pytest.raises(DataError, match="must hold two tokens or more, got"):
        evaluate_language_models([run], overrides=SETTINGS)
