import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from sumpool.core.output import Scores
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.evaluation.scores import REPORT, SCORES
from sumpool.evaluation.task import Results
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, Progress, no_op
from sumpool.tasks.language_modeling import evaluate as workflow
from sumpool.tasks.language_modeling.config import LanguageModelRecipe, TextEvaluationConfig
from sumpool.tasks.language_modeling.evaluate import (
    LoadedLanguageModel,
    TextWindow,
    evaluate_language_models,
    load_language_model,
    overlapping_windows,
    read_windows,
    released_windows,
    score_text,
    segments_of,
    split_of,
    windows_of,
)
from sumpool.tasks.language_modeling.measures import ScoredWindow, score_language_model
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.workflows.train import train

CPU = torch.device("cpu")
VOCABULARY = 9


class Recurrent(nn.Module):
    """Causal model of one recurrent layer, whose segments end at a token."""

    def __init__(self, vocabulary: int = VOCABULARY, end: int = 6) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(vocabulary, 8)
        self.layer = nn.GRU(8, 16, batch_first=True)
        self.out = nn.Linear(16, vocabulary)
        self.end = end
        self.double().eval().requires_grad_(False)

    def forward(
        self, ids: Tensor, mask: Tensor, sentences: Tensor, target: Tensor
    ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        assert mask.all()
        assert sentences.shape == ids.shape
        log_probs = self.out(self.layer(self.embedding(ids))[0]).log_softmax(2)
        log_prob = log_probs.gather(2, target[:, :, None]).squeeze(2)
        return Scores(-log_prob.sum(), log_prob), {}, {}

    def boundaries_of(self, ids: Tensor, mask: Tensor) -> Tensor:
        return (ids == self.end) & mask


def text(tokens: int = 300) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 7, tokens).astype(np.uint16)


def scored(ids: np.ndarray, batch_tokens: int, length: int = 32, check: Check = no_op) -> list[ScoredWindow]:
    model, windows = cast(LanguageModel, Recurrent()), overlapping_windows(len(ids), length, 8)
    return list(score_text(model, ids, windows, batch_tokens=batch_tokens, device=CPU, check=check))


@pytest.mark.parametrize("batch_tokens", [1, 33, 64, 10_000])
def test_every_prediction_is_that_of_the_window_read_alone(batch_tokens: int) -> None:
    ids, model = text(100), Recurrent()
    for window, result in zip(overlapping_windows(100, 32, 8), scored(ids, batch_tokens), strict=True):
        assert result.start == window.start
        nats = 0.0
        for place in range(window.scored, window.end):
            context = torch.tensor(ids[window.start : place].astype(np.int64))[None]
            logits = model.out(model.layer(model.embedding(context))[0][0, -1])
            nats -= float(logits.log_softmax(0)[int(ids[place])])
        assert result.nats == pytest.approx(nats, abs=1e-12)


def test_boundaries_and_lengths_are_those_of_the_whole_text() -> None:
    ids = text()
    windows = scored(ids, 100, length=64)
    ends = np.flatnonzero(ids[:-1] == 6)
    assert sum(window.boundaries for window in windows) == len(ends)
    lengths = np.diff(ends, prepend=-1)
    counted = [length for window in windows for length, count in window.lengths.items() for _ in range(count)]
    assert sorted(counted) == sorted(lengths.tolist())


def test_a_model_that_knows_nothing_needs_the_bits_of_its_vocabulary() -> None:
    model = Recurrent()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    windows = overlapping_windows(50, 16, 4)
    results = list(score_text(cast(LanguageModel, model), text(50), windows, batch_tokens=64, device=CPU))
    report = score_language_model("", "", TextEvaluationConfig(), results)
    assert report.bpc.mean == pytest.approx(math.log2(VOCABULARY))


def test_a_signal_stops_between_batches() -> None:
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(text(), 1, check=check)


def test_every_token_but_the_first_is_predicted_once_with_what_a_window_holds() -> None:
    for tokens in (0, 1, 2, 7, 8, 9, 40, 41):
        for length, step in ((8, 3), (8, 8), (8, 1), (64, 16)):
            windows = overlapping_windows(tokens, length, step)
            predicted = [token for window in windows for token in range(window.scored, window.end)]
            assert predicted == list(range(1, tokens))
    for window in overlapping_windows(1000, 64, 16):
        assert window.length <= 64
        assert window.start == 0 or window.length == 64
        assert window.scored - window.start >= min(window.scored, 64 - 16 + 1)
        assert window.end - window.scored == window.tokens <= 16
    with pytest.raises(ValidationError, match="step must be at most window = 64, got 65"):
        TextEvaluationConfig(window=64, step=65)
    assert TextEvaluationConfig(window=64, step=64).step == 64


def test_the_paper_windows_have_1536_earlier_characters_at_least() -> None:
    windows = overlapping_windows(10_000, 2048, 512)
    assert windows[:2] == [TextWindow(0, 1, 513), TextWindow(0, 513, 1025)]
    assert windows[3:5] == [TextWindow(0, 1537, 2049), TextWindow(512, 2049, 2561)]
    assert windows[-1] == TextWindow(9999 - 2048, 9729, 10_000)


def test_the_released_protocol_scores_82_percent_of_text8() -> None:
    windows = released_windows(5_000_000, 2048, 512)
    assert len(windows) == 16 * 500
    assert sum(window.tokens for window in windows) / 5_000_000 == pytest.approx(0.8192)
    assert windows[500].start == 312_500
    windows = released_windows(16 * 10 + 15, 8, 4)  # drops the remainder
    assert max(window.end for window in windows) == 160
    assert sum(window.tokens for window in windows) == 16 * 9


def recipe(folder: Path, boundaries: dict[str, object] | None) -> LanguageModelRecipe:
    kind = boundaries["kind"] if boundaries else "none"
    learns = kind in ("gumbel", "entropy")
    source = {"kind": "plain", "path": folder / "text.txt"}
    levels = {"layers": [1, 1, 1], "boundaries": [boundaries]} if boundaries else {"layers": [3]}
    weights = {"loss_weights": {"boundaries": 1}} if learns else {}
    return LanguageModelRecipe.model_validate(
        {
            "name": kind,
            "task": "language_modeling",
            "data": {"source": source, "vocabulary_size": 300, "prepared": folder / "prepared"},
            "model": {"dim": 16, "heads": 2, "feed_forward": 32, "length": 32, **levels},
            "train": {"steps": 30, "batch_tokens": 256, "learning_rate": 0.02, "device": "cpu", **weights},
            "evaluate": {"window": 32, "step": 8},
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(1)
    (folder / "text.txt").write_text(" ".join(draw.choice(["the", "öld", "fox", "sleeps"]) for _ in range(2000)))
    return folder


def loaded(folder: Path, boundaries: dict[str, object] | None) -> LoadedLanguageModel:
    of_run = recipe(folder, boundaries)
    run = folder / of_run.name
    if not run.exists():
        train(of_run, run)
    return load_language_model(run)


@pytest.mark.slow
def test_gumbel_boundaries_are_sampled_where_asked(folder: Path) -> None:
    trained = loaded(folder, {"kind": "gumbel"}).folder
    scored = []
    for decision in ("hard", "sample", "sample"):
        model = load_language_model(trained, [f"model.boundaries[0].inference={decision}"])
        text = split_of(model, "test")
        windows = windows_of(model.recipe.evaluate, 200)
        scored.append(list(score_text(model.model, text, windows, batch_tokens=512, device=model.device)))
    assert scored[1] == scored[2]
    assert sum(window.boundaries for window in scored[0]) != sum(window.boundaries for window in scored[1])


def test_the_text_is_that_of_the_split(folder: Path) -> None:
    model = loaded(folder, None)
    text = split_of(model, "test")
    decoded = model.tokenizer.decode(text.tolist())
    assert (folder / "text.txt").read_text().endswith(decoded)


@pytest.mark.slow
def test_segments_are_those_that_the_model_decides(folder: Path) -> None:
    model = loaded(folder, {"kind": "whitespace"})
    ids = np.array(model.tokenizer.encode_batch(["the öld fox sle"])[0])
    assert segments_of(model, ids) == ("the ", "öld ", "fox ", "sle")
    assert segments_of(model, ids[:0]) == ()
    assert segments_of(loaded(folder, {"kind": "fixed", "size": 3}), ids) == ("the", " öl", "d f", "ox ", "sle")


def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must be a run folder with recipe\.yaml"):
        load_language_model(tmp_path)
    with pytest.raises(RecipeError, match=r"evaluate\.step must be"):
        load_language_model(loaded(folder, None).folder, ["evaluate.step=0"])


def test_the_newest_language_model_is_taken(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="must hold a trained language model, got none; train a recipe"):
        load_language_model()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "letters").symlink_to(loaded(folder, None).folder)
    assert load_language_model().folder == Path("runs/letters")


SETTINGS = ["evaluate.resamples=100"]


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return loaded(folder, {"kind": "whitespace"}).folder


@pytest.mark.slow
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


@pytest.mark.slow
def test_results_are_replaced_but_nothing_else(run: Path, tmp_path: Path) -> None:
    results = Results(folder=tmp_path / "results")
    first, again = (evaluate_language_models([run], overrides=SETTINGS, results=results) for _ in range(2))
    assert first.to_json() == again.to_json()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(RecipeError, match="choose another --out"):
        evaluate_language_models([run], overrides=SETTINGS, results=Results(folder=tmp_path / "other"))


@pytest.mark.slow
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
    going_on = Results(folder=tmp_path / "stopped", resume=True)
    resumed = evaluate_language_models([run], overrides=settings, results=going_on)
    (expected,), (result,) = whole.reports.values(), resumed.reports.values()
    assert 0 < scored[0] < expected.windows
    assert result.bpc.mean == pytest.approx(expected.bpc.mean, rel=1e-6)
    with pytest.raises(DataError, match="must hold the same windows to go on"):
        evaluate_language_models([run], overrides=["evaluate.step=4"], results=going_on)


@pytest.mark.slow
def test_protocols_and_a_limit_choose_the_windows(run: Path, tmp_path: Path) -> None:
    out = Results(folder=tmp_path / "results")
    (whole,) = evaluate_language_models([run], overrides=SETTINGS, results=out).reports.values()
    settings = [*SETTINGS, "evaluate.protocol=released"]
    (scores,) = evaluate_language_models([run], overrides=settings, results=out).reports.values()
    (few,) = evaluate_language_models([run], overrides=SETTINGS, limit=7, results=out).reports.values()
    tokens = len(load_language_model(run).tokenizer.encode_batch([(run.parent / "text.txt").read_text()])[0])
    assert tokens > whole.tokens > scores.tokens
    assert scores.tokens % 16 == 0
    assert scores.protocol == "released"
    assert (few.windows, few.tokens) == (7, 7 * 8)


@pytest.mark.slow
def test_models_of_one_text_are_compared(run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = loaded(folder, {"kind": "fixed", "size": 3}).folder
    evaluation = evaluate_language_models([run, other], overrides=SETTINGS)
    (difference,) = evaluation.differences
    means = [report.bpc.mean for report in evaluation.reports.values()]
    assert difference.bpc.difference.mean == pytest.approx(means[0] - means[1])
    assert set(json.loads(evaluation.to_json())) == {"models", "differences"}
    with pytest.raises(RecipeError, match="--out must come with one run, got 2"):
        evaluate_language_models([run, other], results=Results(folder=folder / "both"))
    monkeypatch.setattr(workflow, "windows_of", lambda *_: [])
    with pytest.raises(DataError, match="must hold two tokens or more, got"):
        evaluate_language_models([run], overrides=SETTINGS)
