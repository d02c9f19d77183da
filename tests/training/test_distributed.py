"""Trainings of several processes make the updates of one; `python -m tests.training.several` compares 50 of them."""

from collections import Counter
from pathlib import Path

import pytest
import torch

from sumpool.errors import Interrupted, RecipeError, ResourceError
from sumpool.io.manifest import MODEL
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.config import TrainConfig
from sumpool.training.processes import Processes, current_processes, join_processes, launched_processes
from sumpool.training.weights import load_tensors
from tests.training.several import EXACT, SHARDED, Training, curve_of, run_training
from tests.training.toy import new_run, records_of

SINGLE = EXACT.model_copy(update={"accumulate": 1, "batch_tokens": 16, "steps": 4})
"""Updates of one document, so that a second process has none."""


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of torchrun for the second of two processes."""
    values = {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))


def documents(run: Path) -> Counter[str]:
    return Counter(line for path in run.glob("documents-*") for line in path.read_text().splitlines())


@pytest.mark.parametrize(
    "config",
    [
        EXACT,
        pytest.param(SINGLE, marks=pytest.mark.slow),
        pytest.param(SHARDED, marks=pytest.mark.slow),
        pytest.param(SINGLE.model_copy(update={"parallel": "fsdp"}), marks=pytest.mark.slow),
    ],
    ids=["several documents", "one document", "sharded", "one document, sharded"],
)
def test_two_processes_make_the_updates_of_one(config: TrainConfig, tmp_path: Path) -> None:
    alone, together = new_run(tmp_path / "alone"), new_run(tmp_path / "together")
    run_training(Training(1, config), alone)
    run_training(Training(2, config), together)
    assert curve_of(together) == pytest.approx(curve_of(alone), abs=1e-9)
    assert len(records_of(together, "step")) == config.steps
    assert all(record["imbalance"] >= 0 for record in records_of(together, "step"))
    assert not any("imbalance" in record for record in records_of(alone, "step"))
    if config in (EXACT, SHARDED):  # an idle process reads a document, too, which it gives no weight
        assert documents(together) == documents(alone)
        assert all(path.read_text() for path in together.glob("documents-*"))


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    alone, changed = new_run(tmp_path / "alone"), new_run(tmp_path / "changed")
    constant = EXACT.schedule.model_copy(update={"kind": "constant"})  # it does not depend on the last step
    settings = {"schedule": constant, "validate_every": 2}
    run_training(Training(1, EXACT.model_copy(update=settings)), alone)
    for config, size, steps in ((EXACT, 2, 2), (EXACT, 1, 3), (SHARDED, 2, 4), (EXACT, 1, 5), (SHARDED, 2, 6)):
        run_training(Training(size, config.model_copy(update={**settings, "steps": steps})), changed)
    assert [record["step"] for record in records_of(changed, "step")] == [1, 2, 3, 4, 5, 6]
    assert documents(changed) == documents(alone)
    losses = [[record["loss"] for record in records_of(run, "step")] for run in (alone, changed)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-9)
    first, last = (Checkpoints(run / "checkpoints", 2).load_newest() for run in (alone, changed))
    assert first is not None
    assert last is not None
    assert first.state.position == last.state.position
    assert first.weights.keys() == last.weights.keys()
    assert first.moments.keys() == last.moments.keys()
    exported = load_tensors(changed / MODEL)
    for name, tensor in first.weights.items():
        torch.testing.assert_close(last.weights[name], tensor, atol=1e-9, rtol=0)
        assert exported[name].shape == tensor.shape


def test_one_process_keeps_its_values() -> None:
    processes = current_processes()
    assert processes == Processes(0, 1)
    assert processes.sum(torch.ones(2)).tolist() == [1, 1]
    assert processes.gather("a") == ["a"]
    assert processes.from_main(lambda: 3) == 3
    with pytest.raises(Interrupted, match="stopped by SIGINT"):
        processes.check_together(lambda: (_ for _ in ()).throw(Interrupted(2)))


@pytest.mark.usefixtures("variables")
def test_missing_variables_and_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    gpus = "must have a GPU of its own, got process 2 and 1 GPUs"
    with pytest.raises(RecipeError, match=gpus), join_processes("auto"):
        pass
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("LOCAL_RANK")
    names = r"the environment must have RANK, WORLD_SIZE.*got no RANK, LOCAL_RANK: start it"
    with pytest.raises(RecipeError, match=names), join_processes("cpu"):
        pass


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize(
    ("message", "expected", "sentence"),
    [
        ("[pair.cc:547] Connection closed by peer [127.0.0.1]:1", ResourceError, "but one has ended"),
        ("shape must match", RuntimeError, "shape must match"),
    ],
)
def test_the_end_of_another_process_is_one_sentence(
    message: str, expected: type[Exception], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr("torch.distributed.init_process_group", fail)
    with pytest.raises(expected, match=sentence), join_processes("cpu"):
        pass


def test_the_number_of_processes_is_that_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, count in (("", 1), ("1", 1), ("8", 8), ("many", 1)):
        monkeypatch.setenv("WORLD_SIZE", text)
        assert launched_processes() == count
