import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.core.output import Scores
from sumpool.errors import CheckpointError, Interrupted, NonFiniteError, RecipeError, ResourceError
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress, interruptible, no_op
from sumpool.training import fit as fitting
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.config import ScheduleConfig
from sumpool.training.fit import fit, validate, validation_batches
from sumpool.training.journal import Journal
from sumpool.training.update import count_target_tokens
from sumpool.training.weights import load_weights, weights_of
from tests.training.toy import CONFIG, DATA, new_model, new_run, records_of, trace

GOLDEN_LOSSES = [2.253941, 1.630888, 1.065196]
GOLDEN_NATS = [1.143536, 0.990769, 0.982505]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return new_run(tmp_path / "run")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Content of a run folder after an uninterrupted run."""
    run = new_run(tmp_path_factory.mktemp("runs") / "uninterrupted")
    fit(new_model(), CONFIG, DATA, run)
    return trace(run)


class Observer:
    """Observer with given scores that keeps the steps of its records."""

    def __init__(self, score: Callable[[], Mapping[str, float]]) -> None:
        self.score = score
        self.steps: list[int] = []

    def record(self, step: int) -> None:
        self.steps.append(step)


def with_losses(monkeypatch: pytest.MonkeyPatch, *losses: float) -> None:
    """Replace the losses of validations."""
    answers = ((loss, dict[str, float]()) for loss in losses)
    monkeypatch.setattr(fitting, "validate", lambda *_: next(answers))


def test_results_are_logged_and_those_of_earlier_versions(run: Path) -> None:
    reports: list[Progress] = []
    state = fit(new_model(), CONFIG, DATA, run, report=reports.append)
    steps, validations = records_of(run, "step"), records_of(run, "validation")
    assert [record["loss"] for record in steps][::6] == pytest.approx(GOLDEN_LOSSES, rel=1e-4)
    assert [record["nats"] for record in validations] == pytest.approx(GOLDEN_NATS, rel=1e-4)
    assert [record["step"] for record in validations] == [6, 12, 18]
    assert [record["step"] for record in steps] == list(range(1, CONFIG.steps + 1))
    assert {"loss", "nats", "norm", "learning_rate", "target_tokens", "seconds", "tokens_per_second"} < steps[0].keys()
    assert all(0 < record["data_seconds"] < record["seconds"] for record in steps)
    assert steps[0]["learning_rate"] < CONFIG.learning_rate / 2
    assert state.step == CONFIG.steps
    assert [progress.done for progress in reports if not progress.note] == list(range(1, CONFIG.steps + 1))


def test_the_best_weights_are_exported_and_the_last_returned(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_losses(monkeypatch, 3.0, 2.0, 2.5)
    model = new_model()
    state = fit(model, CONFIG, DATA, run)
    assert (state.best_loss, state.best_step, state.stale_validations) == (2.0, 12, 1)
    best = load_weights(run, new_model)
    stored = Checkpoints(run / "checkpoints", 2)
    assert stored.steps() == [12, 16, 18]
    assert Manifest.read(run).facts == {"step": 12, "validation_loss": 2.0}
    newest = stored.load_newest()
    assert newest is not None
    assert all(torch.equal(tensor, newest.weights[name]) for name, tensor in weights_of(model).items())
    assert not torch.equal(best.embedding.weight, model.embedding.weight)
    assert [record["best"] for record in records_of(run, "validation")] == [True, True, False]


def test_patience_stops_early(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_losses(monkeypatch, 2.0, 2.0, 1.0)
    state = fit(new_model(), CONFIG.model_copy(update={"patience": 1}), DATA, run)
    assert (state.step, state.best_step, state.stale_validations) == (12, 6, 1)


def test_a_run_stopped_by_a_signal_resumes_exactly(run: Path, uninterrupted: dict[str, str]) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 7:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="SIGTERM") as caught, interruptible(60) as interruption:
        fit(new_model(), CONFIG, DATA, run, report=interrupt, check=interruption.check)
    assert caught.value.status == 143
    assert Checkpoints(run / "checkpoints", 2).steps()[-1] == 7
    assert records_of(run, "step")[-1]["step"] == 7
    fit(new_model(), CONFIG, DATA, run)
    assert trace(run) == uninterrupted


@pytest.mark.slow
def test_a_validation_stopped_by_a_signal_is_repeated(run: Path, uninterrupted: dict[str, str]) -> None:
    calls = 0

    def stop_in_second_validation() -> dict[str, float]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Interrupted(signal.SIGTERM)
        return {}

    with pytest.raises(Interrupted, match="SIGTERM"):
        fit(new_model(), CONFIG, DATA, run, observer=Observer(stop_in_second_validation))
    assert [record["step"] for record in records_of(run, "validation")] == [6]
    fit(new_model(), CONFIG, DATA, run)
    assert trace(run) == uninterrupted


@pytest.mark.slow
def test_a_damaged_newest_checkpoint_is_skipped_and_replaced(run: Path, uninterrupted: dict[str, str]) -> None:
    fit(new_model(), CONFIG, DATA, run)
    (run / "checkpoints" / "step-00000018" / "optimizer.safetensors").write_bytes(b"")
    notes: list[Progress] = []
    fit(new_model(), CONFIG, DATA, run, report=notes.append)
    sentences = [progress.note for progress in notes if progress.note]
    assert "step-00000018/optimizer.safetensors must hold" in sentences[0]
    assert sentences[1] == "resuming from step 16"
    assert trace(run) == uninterrupted


def scale_gradient(model: torch.nn.Module, step: int, value: float) -> Callable[[Progress], None]:
    """Report callback that multiplies the gradient of one step."""

    def on_report(progress: Progress) -> None:
        if progress.done == step - 1 and not progress.note:
            model.get_parameter("embedding.weight").register_hook(lambda gradient: gradient * value)

    return on_report


@pytest.mark.parametrize(
    ("step", "value"), [(2, float("nan")), (9, float("inf")), pytest.param(18, float("-inf"), marks=pytest.mark.slow)]
)
def test_a_non_finite_gradient_stops_before_the_update(step: int, value: float, run: Path) -> None:
    model = new_model()
    message = rf"of step {step} must be finite, got loss \d.*, gradient norm (nan|inf).*documents of this step \(doc1-"
    with pytest.raises(NonFiniteError, match=message):
        fit(model, CONFIG, DATA, run, report=scale_gradient(model, step, value))
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    assert all(saved < step for saved in Checkpoints(run / "checkpoints", 2).steps())
    stopped = records_of(run, "stopped")
    assert stopped[0]["step"] == step
    assert len(stopped[0]["documents"]) >= 2


def test_a_non_finite_loss_stops_before_the_update(run: Path) -> None:
    model = new_model()
    with torch.no_grad():
        model.embedding.weight[9] = float("inf")
    with pytest.raises(NonFiniteError, match="loss and gradient of step 1 must be finite, got loss nan"):
        fit(model, CONFIG, DATA, run)
    assert not Checkpoints(run / "checkpoints", 2).steps()


def test_a_non_finite_validation_loss_exports_no_weights(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_losses(monkeypatch, float("nan"))
    with pytest.raises(NonFiniteError, match="the validation loss after step 6 must be finite, got nan"):
        fit(new_model(), CONFIG, DATA, run)
    assert not (run / "model.safetensors").exists()


CONSTANT = CONFIG.model_copy(update={"schedule": ScheduleConfig(kind="constant", warmup=4)})


def scores(*values: float) -> Observer:
    """Observer with the ROUGE-2 of one validation after the other."""
    rouge2 = iter(values)
    return Observer(lambda: {"rouge1": 50.0, "rouge2": next(rouge2), "rouge2_standard_error": 1.25})


def test_a_constant_run_that_goes_on_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, extended = new_run(tmp_path / "whole"), new_run(tmp_path / "extended")
    fit(new_model(), CONSTANT, DATA, whole)
    fit(new_model(), CONSTANT.model_copy(update={"steps": 7}), DATA, extended)
    fit(new_model(), CONSTANT, DATA, extended)
    assert trace(extended) == trace(whole)


@pytest.mark.slow
def test_weights_of_a_validation_that_is_not_repeated_are_put_back(run: Path, tmp_path: Path) -> None:
    by_score = CONSTANT.model_copy(update={"select_by": "rouge2"})
    whole = new_run(tmp_path / "whole")
    ended = fit(new_model(), by_score.model_copy(update={"steps": 8}), DATA, run, observer=scores(20, 30))
    assert (ended.best_step, Manifest.read(run).facts["step"]) == (8, 8)
    state = fit(new_model(), by_score, DATA, run, observer=scores(10, 10))  # after steps 12 and 18
    assert (state.best_step, state.best_score) == (6, 20)
    fit(new_model(), by_score, DATA, whole, observer=scores(20, 10, 10))
    assert trace(run) == trace(whole)


def test_a_damaged_checkpoint_of_the_best_weights_is_named(run: Path) -> None:
    by_score = CONSTANT.model_copy(update={"select_by": "rouge2"})
    fit(new_model(), by_score.model_copy(update={"steps": 8}), DATA, run, observer=scores(20, 30))
    (run / "checkpoints" / "step-00000006" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"step-00000006/model\.safetensors must be readable"):
        fit(new_model(), by_score, DATA, run, observer=scores(10, 10))


def test_the_highest_rouge_is_selected_and_stops_early(run: Path) -> None:
    config = CONFIG.model_copy(update={"select_by": "rouge2", "patience": 1})
    observer, reports = scores(20, 20), list[Progress]()
    state = fit(new_model(), config, DATA, run, observer=observer, report=reports.append)
    assert (state.step, state.best_step, state.best_score, state.stale_validations) == (12, 6, 20, 1)
    facts = Manifest.read(run).facts
    assert (facts["step"], facts["validation_loss"]) == (6, state.best_loss)
    assert observer.steps == [6, 12]
    assert [record["rouge2"] for record in records_of(run, "validation")] == [20, 20]
    notes = [report.note for report in reports if "validation" in report.note]
    assert "rouge1 50, rouge2 20 ± 1.2 (best so far)" in notes[0]
    assert notes[1].endswith("rouge1 50, rouge2 20 ± 1.2")


CPU = torch.device("cpu")


def test_loss_is_a_mean_over_tokens_independent_of_batching() -> None:
    model = new_model().double()
    total, tokens = 0.0, 0
    model.eval()
    for index in range(len(DATA.validation)):
        batch = DATA.batch(DATA.validation, [index])
        assert batch.target is not None
        scores: Scores = model(batch.ids, batch.mask, batch.sentences, batch.target)[0]
        total -= scores.log_prob.sum().item()
        tokens += count_target_tokens(batch)
    for batch_tokens in (1, 40, 1000):
        config = CONFIG.model_copy(update={"batch_tokens": batch_tokens})
        assert validate(model, DATA, config, CPU, no_op)[0] == pytest.approx(total / tokens, rel=1e-9)


def test_batches_have_the_first_documents_within_the_token_budget() -> None:
    config = CONFIG.model_copy(update={"validate_documents": 5, "batch_tokens": 40})
    batches = validation_batches(DATA, config)
    assert sorted(index for batch in batches for index in batch) == [0, 1, 2, 3, 4]
    assert all(DATA.batch(DATA.validation, batch).ids.numel() <= 40 for batch in batches)


def test_a_signal_stops_validation() -> None:
    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted, match="SIGTERM"):
        validate(new_model(), DATA, CONFIG, CPU, stop)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "metrics.jsonl")
    for step in (1, 2, 3):
        journal.append("step", step, {"loss": 0.5})
        journal.append("validation", step, {"nats": 0.25})
    return journal


def test_records_are_lines_of_which_a_torn_one_is_skipped(journal: Journal) -> None:
    assert json.loads(journal.path.read_text().splitlines()[1]) == {"kind": "validation", "step": 1, "nats": 0.25}
    records = journal.read()
    with journal.path.open("a") as file:
        file.write('{"kind": "st\n[]\n{"step": 1}\nno JSON\n{"kind": "step", "step": 3}')
    assert journal.read() == records
    assert len(records) == 6
    journal.path.unlink()
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl must be the metrics log of a run, got: "):
        journal.read()


def test_rewind_keeps_the_records_before_a_checkpoint(journal: Journal) -> None:
    with journal.path.open("a") as file:
        file.write('{"kind": "step", "step": 3, "lo')
    journal.rewind(9)
    assert len(journal.path.read_text().splitlines()) == 6
    journal.rewind(2)
    assert [(record["kind"], record["step"]) for record in journal.read()] == [
        ("step", 1),
        ("validation", 1),
        ("step", 2),
    ]
    journal.path.unlink()
    journal.sync()
    journal.rewind(0)
    assert journal.path.read_bytes() == b""


def test_a_failing_disk_is_a_resource_error(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    before = journal.path.read_bytes()
    for action in (journal.sync, lambda: journal.rewind(1)):
        with pytest.raises(ResourceError, match=r"metrics\.jsonl must be written completely, got: .*No space left"):
            action()
    assert journal.path.read_bytes() == before
    with pytest.raises(RecipeError, match="must be a path that can be written"):
        Journal(journal.path.parent / "missing" / "metrics.jsonl").append("step", 1, {})
