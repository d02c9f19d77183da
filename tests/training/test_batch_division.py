import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch
from sumpool.errors import ResourceError
from sumpool.progress import Progress, no_op
from sumpool.training.fit import fit, validate
from sumpool.training.update import BatchDivision, Updater, enough_memory, halve
from tests.training.toy import CONFIG, DATA, ToyDocuments, new_model, new_run

CPU = torch.device("cpu")
EXHAUSTED = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
AUTO = CONFIG.model_copy(update={"auto_batch": True, "clip": 0.0})


def batch_of(indices: list[int]) -> Batch:
    return DATA.batch(DATA.training, indices)


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


def gradients(
    batches: list[Batch], documents: int, *, backward: bool = False
) -> tuple[dict[str, Tensor], float, Updater]:
    """Gradients and loss in double precision where memory holds so many documents."""
    model = new_model(dropout=0.0).double()
    exhaust(model, documents, backward=backward)
    updater = Updater(model, AUTO, CPU)
    loss = updater.update(batches, rate=0.0).read()["loss"]
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}, loss, updater


@pytest.mark.parametrize("documents", [1, 2, 5])
@pytest.mark.parametrize("backward", [False, True])
def test_divided_batches_have_the_gradients_of_whole_ones(documents: int, backward: bool) -> None:
    batches = [batch_of(list(range(8))), batch_of([8, 9, 10]), batch_of([11])]
    expected, loss, whole = gradients(batches, 100)
    assert whole.division.failed is None
    divided, same_loss, updater = gradients(batches, documents, backward=backward)
    assert updater.division.failed is not None
    assert same_loss == pytest.approx(loss, rel=1e-6)  # metrics are read in single precision
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

    division = BatchDivision(True, 64)
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
    assert torch.equal(BatchDivision(True, 64).run(batch_of([0, 1]), work)["draws"], expected)


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
    for enabled in (False, True):

        def work(batch: Batch) -> dict[str, Tensor]:
            raise RuntimeError(f"shapes of {len(batch.documents)} documents do not match")

        with pytest.raises(RuntimeError, match="shapes"):
            BatchDivision(enabled, 64).run(batch_of([0, 1]), work)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit that other systems ignore")
def test_a_limit_on_memory_is_kept(tmp_path: Path) -> None:
    """In a process of its own, with less memory than a batch needs."""
    command = [sys.executable, "-m", "tests.training.test_batch_division", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    refused, divided = finished.stdout.splitlines()
    assert refused.startswith("memory must hold a batch of 96 documents of ")
    assert "such batches are divided" in divided


def _main(folder: Path) -> None:
    """Train with a limit on memory that batches of 96 documents exceed, without and with division."""
    import resource  # Unix only

    torch.set_num_threads(1)
    config = CONFIG.model_copy(update={"steps": 1, "batch_tokens": 10**6, "accumulate": 1})
    documents = ToyDocuments(96, seed=1)
    documents.items = [
        replace(item, ids=item.ids.repeat(80)[:1000], sentences=item.sentences.repeat(80)[:1000])
        for item in documents.items
    ]
    data = replace(DATA, training=documents, source_length=1000)
    fit(new_model(), config, DATA, new_run(folder / "warm-up"))  # imports, and threads of torch
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 60 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for auto_batch in (False, True):
        notes = list[str]()

        def report(progress: Progress) -> None:
            if progress.note and "divided" in progress.note:
                notes.append(progress.note)  # noqa: B023 - called in this turn only

        model = new_model()
        object.__setattr__(model.config, "source_length", 1000)
        try:
            changed = config.model_copy(update={"auto_batch": auto_batch})
            fit(model, changed, data, new_run(folder / f"run-{auto_batch}"), report=report)
        except ResourceError as error:
            notes.append(str(error))
        sys.stdout.write(f"{notes[0]}\n")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
