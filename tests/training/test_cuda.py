"""Training on a GPU: updates are asynchronous, and runs resume on any device."""

from pathlib import Path

import pytest
import torch

from sumpool.errors import NonFiniteError
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.fit import fit
from sumpool.training.update import Updater
from tests.training.toy import CONFIG, DATA, are_finite, new_model, new_run

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

CUDA = CONFIG.model_copy(update={"device": "cuda", "precision": "bf16"})


def test_an_update_does_not_synchronise() -> None:
    model = new_model().cuda()
    updater = Updater(model, CUDA, torch.device("cuda"))
    batches = [DATA.batch(DATA.training, [0, 1]), DATA.batch(DATA.training, [2])]
    updater.update(batches, rate=0.01).read()
    torch.cuda.set_sync_debug_mode("error")
    try:
        metrics = updater.update(batches, rate=0.01)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert are_finite(metrics.read())


def test_a_run_trains_and_resumes(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    fit(new_model(), CUDA.model_copy(update={"steps": 9}), DATA, run)
    state = fit(new_model(), CUDA, DATA, run)
    assert state.step == CUDA.steps
    assert state.best_loss is not None
    assert state.best_loss < 2.0
    assert fit(new_model(), CONFIG.model_copy(update={"steps": 20}), DATA, run).step == 20


def test_a_non_finite_gradient_is_skipped_although_read_a_step_later(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    model = new_model()
    steps = 0

    def corrupt(gradient: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return gradient * (float("nan") if steps > 5 * CUDA.accumulate else 1.0)

    model.embedding.weight.register_hook(corrupt)
    with pytest.raises(NonFiniteError, match="of step 6 must be finite"):
        fit(model, CUDA, DATA, run)
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    assert Checkpoints(run / "checkpoints", 2).steps() == [2, 4]
