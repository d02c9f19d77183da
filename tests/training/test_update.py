import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sumpool.core.model import encoder as encoder_module
from sumpool.core.output import Scores
from sumpool.data.batches import Batch
from sumpool.errors import CheckpointError, NonFiniteError, ResourceError
from sumpool.progress import Progress, no_op
from sumpool.training.config import ScheduleConfig
from sumpool.training.fit import fit, validate
from sumpool.training.journal import Journal, UpdateLog
from sumpool.training.processes import Processes
from sumpool.training.update import (
    BatchDivision,
    Objective,
    PendingMetrics,
    Updater,
    UpdateSize,
    build_optimizer,
    enough_memory,
    halve,
    schedule_factor,
)
from tests.training.toy import CONFIG, DATA, ToyDocuments, are_finite, new_model, new_run

CPU = torch.device("cpu")


def batch_of(indices: list[int]) -> Batch:
    return DATA.batch(DATA.training, indices)


def new_updater(model: nn.Module, **settings: object) -> Updater:
    return Updater(model, CONFIG.model_copy(update=settings), CPU)


def gradients(
    batches: list[Batch], updater: Updater | None = None, **settings: object
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Gradients, by default in double precision and not clipped, and metrics."""
    updater = updater or new_updater(new_model(dropout=0.0).double(), **{"clip": 0.0, **settings})
    metrics = updater.update(batches, rate=0.0).read()
    return {name: p.grad for name, p in updater.model.named_parameters() if p.grad is not None}, metrics


def norm_of(gradients: dict[str, Tensor]) -> float:
    return float(torch.stack([gradient.norm() for gradient in gradients.values()]).norm())


def test_eight_batches_of_one_equal_one_batch_of_eight_with_smoothing() -> None:
    assert CONFIG.label_smoothing > 0
    whole, parts = batch_of(list(range(8))), [batch_of([number]) for number in range(8)]
    assert UpdateSize.of(parts) == UpdateSize.of([whole])
    assert UpdateSize.of(parts).source_tokens == int(whole.mask.sum())
    together, metrics = gradients([whole])
    apart, same = gradients(parts)
    assert metrics["loss"] == pytest.approx(same["loss"], rel=1e-6)
    for name, gradient in together.items():
        torch.testing.assert_close(apart[name], gradient, rtol=1e-9, atol=1e-12)


def test_auxiliary_losses_are_independent_of_batching() -> None:
    class LengthLoss(nn.Module):
        """Model whose only loss with a gradient is auxiliary: the mean length of the documents."""

        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(
            self,
            ids: Tensor,
            mask: Tensor,
            sentences: Tensor,
            target: Tensor,
            phrases: Tensor | None,
            smoothing: float,
            *,
            lengths: tuple[int, ...],
        ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
            del ids, sentences, phrases, smoothing, lengths
            length = mask.sum(1).float().mean()
            return Scores(0.0 * self.scale.sum(), torch.zeros(target.shape)), {"length": self.scale.sum() * length}, {}

    lengths = [min(len(DATA.training[number].ids), DATA.source_length) for number in range(3)]
    for batches in ([[0, 1, 2]], [[0], [1, 2]]):
        updater = new_updater(LengthLoss(), loss_weights={"length": 0.5}, clip=0.0)
        found, _ = gradients([batch_of(indices) for indices in batches], updater)
        assert found["scale"].item() == pytest.approx(0.5 * sum(lengths) / 3)


def test_norm_and_values_of_gradients_are_clipped() -> None:
    free, _ = gradients([batch_of([0, 1])])
    clipped, metrics = gradients([batch_of([0, 1])], clip=0.01)
    assert norm_of(clipped) == pytest.approx(0.01, rel=1e-3)
    assert metrics["norm"] == pytest.approx(norm_of(free), rel=1e-3)
    limit = max(float(gradient.abs().max()) for gradient in free.values()) / 3
    cut, _ = gradients([batch_of([0, 1])], clip_value=limit)
    for name, gradient in free.items():
        torch.testing.assert_close(cut[name], gradient.clamp(-limit, limit))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_update_from_the_first_non_finite_gradient_on(value: float) -> None:
    model = new_model()
    updater = new_updater(model)
    updater.update([batch_of([0, 1])], rate=0.01)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    moments = {name: tensor.clone() for name, tensor in updater.moments().items()}
    hook = model.embedding.weight.register_hook(lambda gradient: gradient * value)
    assert not are_finite(updater.update([batch_of([2, 3])], rate=0.01).read())
    hook.remove()
    updater.update([batch_of([4, 5])], rate=0.01)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert all(torch.equal(tensor, moments[name]) for name, tensor in updater.moments().items())


class RoundingCounter(TorchDispatchMode):
    """Count of conversions to bf16 by memory address."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.times: Counter[int] = Counter()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if func is torch.ops.aten._to_copy.default and kwargs and kwargs["dtype"] is torch.bfloat16:
            assert isinstance(args[0], Tensor)
            self.times[args[0].data_ptr()] += 1
        return func(*args, **(kwargs or {}))


def test_bf16_rounds_every_weight_once_and_keeps_gradients_and_moments_in_single_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoder_module, "CPU_CHUNK_BYTES", 1)  # every layer runs several times
    model = new_model(dropout=0.0)
    updater = new_updater(model, precision="bf16")
    with RoundingCounter() as counter:
        metrics = updater.update([batch_of([0, 1, 2])], rate=0.01).read()
    assert metrics["loss"] == pytest.approx(gradients([batch_of([0, 1, 2])])[1]["loss"], rel=0.02)
    times = {name: counter.times[parameter.data_ptr()] for name, parameter in model.named_parameters()}
    exact = {name for name in times if "norm" in name or "direction" in name}  # in single precision
    assert {name for name, count in times.items() if count != 1} == exact
    found = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert {tensor.dtype for tensor in (*found, *updater.moments().values())} == {torch.float32}


def test_batches_without_weight_have_no_gradient() -> None:
    objective = Objective(new_model(dropout=0.0), CONFIG, torch.float32, None)
    loss, parts = objective(batch_of([0, 1]), UpdateSize(math.inf, math.inf))
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(float(value) == 0 for value in parts.values())
    gradients = [parameter.grad for parameter in objective.parameters() if parameter.grad is not None]
    assert gradients
    assert all(float(gradient.abs().max()) == 0 for gradient in gradients)


def test_weight_decay_applies_to_matrices_only() -> None:
    model = new_model()
    matrices, others = build_optimizer(model, CONFIG).param_groups
    assert (matrices["weight_decay"], others["weight_decay"]) == (CONFIG.weight_decay, 0.0)
    names = {parameter: name for name, parameter in model.named_parameters()}
    decayed, left_out = ({names[parameter] for parameter in group["params"]} for group in (matrices, others))
    assert decayed | left_out == set(names.values())
    assert left_out == {name for name in names.values() if name.endswith("bias") or "norm" in name}


def test_moments_restore_an_optimizer() -> None:
    first, second = new_model(), new_model()
    original, restored = new_updater(first), new_updater(second)
    original.update([batch_of([0, 1])], rate=0.1)
    restored.load_state(original.weights(), original.moments(), "checkpoint")
    for updater in (original, restored):
        torch.manual_seed(1)
        updater.update([batch_of([2, 3])], rate=0.1)
    for left, right in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(left, right)
    assert restored.moments()["embedding.weight:step"] == 2


def test_moments_of_another_model_are_an_error() -> None:
    updater = new_updater(new_model())
    for name in ("embedding.weight:exp_avg", "other:exp_avg"):
        with pytest.raises(CheckpointError, match=rf"checkpoint: {name} \(3,\) must belong to a parameter"):
            updater.load_state(updater.weights(), {name: torch.zeros(3)}, "checkpoint")


@pytest.mark.parametrize(
    ("kind", "middle", "end"),
    [
        ("constant", 1.0, 1.0),
        ("inverse_sqrt", (11 / 56) ** 0.5, 0.11**0.5),
        ("cosine", 0.55, 0.1),
        ("linear", 0.55, 0.1),
    ],
)
def test_rates_rise_linearly_and_decay(kind: str, middle: float, end: float) -> None:
    config = ScheduleConfig.model_validate({"kind": kind, "warmup": 10, "floor": 0.1})
    factors = [schedule_factor(step, config, 100) for step in range(101)]
    assert factors[:11] == pytest.approx([step / 11 for step in range(1, 12)])
    assert factors[55] == pytest.approx(middle)
    assert factors[100] == pytest.approx(end, abs=0.02)
    assert all(later <= earlier for earlier, later in pairwise(factors[10:]))
    assert [schedule_factor(step, config, 5) for step in range(5)] == factors[:5]  # shorter than the warm-up
    if kind in ("cosine", "linear"):
        assert schedule_factor(500, config, 100) == pytest.approx(0.1)


def append(log: UpdateLog, step: int, loss: float = 1.0, imbalance: float | None = None) -> None:
    metrics = PendingMetrics(torch.tensor([loss, 1.0, 2.0]), [], UpdateSize(10, 2, 100, imbalance))
    log.append(step, ("a", "b"), 0.1, 0.0, metrics)


def test_an_update_is_logged_with_the_next_one(tmp_path: Path) -> None:
    journal, shown = Journal(tmp_path / "metrics.jsonl"), list[Progress]()
    log = UpdateLog(journal, 5, shown.append, Processes())
    append(log, 1)
    assert not shown
    append(log, 2, imbalance=0.25)
    assert [progress.done for progress in shown] == [1]
    log.flush()
    log.flush()
    first, second = journal.read()
    assert (first["step"], first["target_tokens"], "imbalance" in first) == (1, 10, False)
    assert (second["step"], second["imbalance"]) == (2, 0.25)
    assert shown[1].metrics["imbalance"] == 0.25


def test_only_the_first_process_writes_the_metrics_log(tmp_path: Path) -> None:
    shown = list[Progress]()
    log = UpdateLog(Journal(tmp_path / "metrics.jsonl"), 5, shown.append, Processes(1, 2))
    append(log, 1, imbalance=0.0)
    log.flush()
    assert shown
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_loss_that_is_not_finite_names_its_documents(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    log = UpdateLog(journal, 5, lambda _: None, Processes())
    append(log, 3, math.nan)
    with pytest.raises(NonFiniteError, match=r"step 3 must be finite, got loss nan.*\(a, b\)"):
        log.flush()
    assert journal.read()[0]["documents"] == ["a", "b"]


EXHAUSTED = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
AUTO = CONFIG.model_copy(update={"auto_batch": True, "clip": 0.0})


def exhaust(model: nn.Module, documents: int, *, backward: bool) -> None:
    """Let batches of more documents run out of memory, in the forward pass or in the middle of the backward pass."""

    is_large = [False]

    def refuse(_: object) -> None:
        raise RuntimeError(EXHAUSTED)

    def check_size(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        is_large[0] = len(inputs[0]) > documents
        if is_large[0] and not backward:
            refuse(None)

    def check_gradient(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        del inputs
        if is_large[0] and output.requires_grad:
            output.register_hook(refuse)

    model.register_forward_pre_hook(check_size)
    model.get_submodule("embedding").register_forward_hook(check_gradient)


@pytest.mark.parametrize("documents", [1, 2, 5])
@pytest.mark.parametrize("backward", [False, True])
def test_divided_batches_have_the_gradients_of_whole_ones(documents: int, backward: bool) -> None:
    batches = [batch_of(list(range(8))), batch_of([8, 9, 10]), batch_of([11])]
    expected, metrics = gradients(batches)
    model = new_model(dropout=0.0).double()
    exhaust(model, documents, backward=backward)
    updater = Updater(model, AUTO, CPU)
    divided, same = gradients(batches, updater)
    assert updater.division.failed is not None
    assert same["loss"] == pytest.approx(metrics["loss"], rel=1e-6)  # metrics are read in single precision
    assert divided.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(divided[name], gradient, rtol=0, atol=1e-12)


def test_batches_of_a_size_that_failed_are_not_tried_again() -> None:
    tried: list[int] = []

    def work(batch: Batch) -> dict[str, Tensor]:
        tried.append(len(batch.documents))
        if len(batch.documents) > 2:
            raise MemoryError
        return {"documents": torch.tensor(len(batch.documents))}

    division = BatchDivision(AUTO)
    batch = replace(batch_of(list(range(8))), documents=tuple(map(str, range(8))))
    for expected in ([8, 4, 2, 2, 4, 2, 2], [2, 2, 2, 2]):
        tried.clear()
        assert division.run(batch, work)["documents"] == 8
        assert len(tried) <= len(expected)
    assert "such batches are divided" in division.note()


def test_a_failed_attempt_draws_no_random_numbers() -> None:
    def work(batch: Batch) -> dict[str, Tensor]:
        draws = torch.rand(1)
        if len(batch.documents) > 1:
            raise MemoryError
        return {"draws": draws}

    torch.manual_seed(3)
    expected = torch.rand(1) + torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(BatchDivision(AUTO).run(batch_of([0, 1]), work)["draws"], expected)


def test_halves_have_no_padding_that_they_do_not_need() -> None:
    batch = batch_of([0, 1, 2, 3, 4])
    first, second = halve(batch)
    assert first.documents + second.documents == batch.documents
    for half in (first, second):
        assert half.mask.any(0).all()
        assert half.target is not None
        assert (half.target != half.pad).any(0).all()
        assert half.ids.shape == half.sentences.shape == half.mask.shape
        assert half.lengths == tuple(half.mask.sum(1).tolist())


def test_a_validation_is_divided_too() -> None:
    model = new_model().double()
    expected = validate(model, DATA, AUTO, CPU, no_op)[0]
    exhaust(model, 1, backward=False)
    assert validate(model, DATA, AUTO, CPU, no_op)[0] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ResourceError, match="--auto-batch, which divides such batches"):
        validate(model, DATA, CONFIG, CPU, no_op)


def test_training_says_that_batches_are_divided(tmp_path: Path) -> None:
    model = new_model()
    exhaust(model, 2, backward=False)
    heard: list[Progress] = []
    fit(model, AUTO.model_copy(update={"steps": 2}), DATA, new_run(tmp_path / "run"), report=heard.append)
    (note,) = {progress.note for progress in heard if progress.note and "divided" in progress.note}
    assert note.startswith("memory cannot hold a batch of ")


def test_out_of_memory_names_the_batch_and_a_remedy() -> None:
    for error in (MemoryError(), RuntimeError(EXHAUSTED)):
        batch = batch_of([0, 1])
        shape = f"2 documents of {batch.ids.size(1)} source and 5 target tokens"
        with (
            pytest.raises(ResourceError, match=f"{shape}, but it ran out: halve train.batch_tokens, now 64"),
            enough_memory(batch, 64),
        ):
            raise error
        with pytest.raises(ResourceError, match="and 0 target"), enough_memory(replace(batch, target=None), 64):
            raise error
        with (
            pytest.raises(ResourceError, match=r"1 document of .*: lower model\.source_length"),
            enough_memory(batch_of([0]), 64),
        ):
            raise error


def test_other_errors_propagate() -> None:
    def work(batch: Batch) -> dict[str, Tensor]:
        raise RuntimeError(f"shapes of {len(batch.documents)} documents do not match")

    for run in (work, lambda batch: BatchDivision(AUTO).run(batch, work)):
        with pytest.raises(RuntimeError, match="shapes"), enough_memory(batch_of([0, 1]), 64):
            run(batch_of([0, 1]))


def test_updates_name_a_batch_that_memory_cannot_hold() -> None:
    model = new_model()
    exhaust(model, 0, backward=False)
    for config, message in (
        (CONFIG, "memory must hold a batch of 2 documents"),
        (AUTO, r"memory must hold a batch of 1 document .*model\.source_length"),
    ):
        with pytest.raises(ResourceError, match=message):
            Updater(model, config, CPU).update([batch_of([0, 1])], rate=0.0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit that other systems ignore")
def test_a_limit_on_memory_is_kept(tmp_path: Path) -> None:
    """In a process of its own, with less memory than a batch needs."""
    command = [sys.executable, "-m", "tests.training.test_update", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("such batches are divided") == 1


def _main(folder: Path) -> None:
    """Train with a limit on memory that batches of 96 documents exceed."""
    import resource  # Unix only

    torch.set_num_threads(1)
    config = AUTO.model_copy(update={"steps": 1, "batch_tokens": 10**6, "accumulate": 1})
    documents = ToyDocuments(96, seed=1)
    documents.items = [
        replace(item, ids=np.resize(item.ids, 1000), sentences=np.resize(item.sentences, 1000))
        for item in documents.items
    ]
    fit(new_model(), config, DATA, new_run(folder / "warm-up"))  # imports, and threads of torch
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 60 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    model = new_model()
    object.__setattr__(model.config, "source_length", 1000)
    data, run = replace(DATA, training=documents, source_length=1000), new_run(folder / "run")
    notes = list[Progress]()
    fit(model, config, data, run, report=notes.append)
    sys.stdout.writelines(progress.note for progress in notes)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
