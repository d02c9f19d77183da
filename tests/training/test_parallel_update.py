"""Documents are divided by tokens, and sharding sums the gradients of processes that use other parameters."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from sumpool.core.output import Scores
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.parallel import ParallelUpdater, divide, imbalance, is_sharded
from sumpool.training.processes import Processes, join_processes
from sumpool.training.update import Updater
from tests.training.several import PROCESSES, free_port, join_as
from tests.training.toy import CONFIG, DATA, new_model

FSDP = CONFIG.model_copy(update={"parallel": "fsdp", "clip": 0.0, "loss_weights": {"map": 1.0}})
CPU = torch.device("cpu")
BATCHES = [[(0, 1), (1, 3)], [(1, -2)]]
"""For each process its batches: the map that one uses, and the input of it."""


class Maps(nn.Module):
    """Maps of which a batch uses one, and one that none uses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.maps = nn.ModuleList(nn.Linear(1, 5) for _ in range(3)).double()

    def forward(self, ids: Tensor, *_: object, **__: object) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        number, value = ids[0].tolist()
        loss: Tensor = self.maps[number](torch.full((1,), value, dtype=torch.float64)).pow(2).sum()
        return Scores(torch.zeros(()), torch.zeros(1, 1)), {"map": loss}, {}


def batch_of(number: int, value: int) -> Batch:
    ids = torch.tensor([[number, value]])
    return Batch(ids, ids > -9, torch.zeros_like(ids), torch.ones(1, 1, dtype=torch.long), ("a",))


def _shard(rank: int, port: str, path: Path) -> None:
    with join_as(rank, 2, port), join_processes("cpu") as processes:
        module = Maps()
        if rank:  # the others take the weights of process 0
            nn.init.zeros_(next(module.parameters()))
        updater = ParallelUpdater(module, FSDP, CPU, None, processes)
        with updater.whole_weights():
            values = [module(batch_of(1, 2).ids)[1]["map"].item() for _ in range(rank + 1)]
        assert all(isinstance(parameter, DTensor) for parameter in module.parameters())
        updater._nonfinite = torch.ones(())
        updater.update([batch_of(*arguments) for arguments in BATCHES[rank]], rate=1.0)
        gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
        result: dict[str, Any] = {
            "values": values,
            "gradients": {name: g.full_tensor() for name, g in gradients.items() if isinstance(g, DTensor)},
            "weights": updater.weights(),
            "bytes": sum(p.to_local().nbytes for p in module.parameters() if isinstance(p, DTensor)),
        }
        updater.load_state({name: 2 * tensor for name, tensor in Maps().state_dict().items()}, {}, "loaded")
        torch.save({**result, "loaded": updater.weights()}, path / f"{rank}.pt")


def test_parts_and_gradients_of_two_processes(tmp_path: Path) -> None:
    port = free_port()
    processes = [PROCESSES.Process(target=_shard, args=(rank, port, tmp_path)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert not process.exitcode
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    module = Maps()
    used = [arguments for batches in BATCHES for arguments in batches]
    sum(module(batch_of(*arguments).ids)[1]["map"] / len(used) for arguments in used).backward()
    expected = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    for result in (first, second):
        assert result["gradients"].keys() == expected.keys()  # none of the map that no process uses
        for name, gradient in expected.items():
            torch.testing.assert_close(result["gradients"][name], gradient, atol=1e-12, rtol=0)
    value = module(batch_of(1, 2).ids)[1]["map"].item()
    assert second["values"] == 2 * first["values"] == 2 * [pytest.approx(value)]
    for name, parameter in module.named_parameters():  # an update of which the gradient is not finite is left out
        assert torch.equal(first["weights"][name], parameter)
        assert torch.equal(first["loaded"][name], 2 * parameter)
    assert not second["weights"]
    assert (first["bytes"], second["bytes"]) == (6 * 3 * 8, 4 * 3 * 8)  # 3 and 2 rows of 5, for weights and biases


def test_large_models_are_sharded(monkeypatch: pytest.MonkeyPatch) -> None:
    for parallel, local, available, expected in (
        ("ddp", 2, 0, False),
        ("fsdp", 2, 10**12, True),
        ("auto", 1, 10**12, False),
        ("auto", 1, 9, False),
        ("auto", 2, 15, True),  # two processes share the memory
        ("auto", 1, 7, True),
    ):
        model = new_model()
        weights = sum(parameter.nbytes for parameter in model.parameters())
        monkeypatch.setattr("sumpool.training.parallel.available", Mock(return_value=available * weights))
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
        config = FSDP.model_copy(update={"parallel": parallel})
        assert is_sharded(config, model, CPU, Processes(0, 2)) is expected


def test_batches_of_several_processes_are_not_divided() -> None:
    config = CONFIG.model_copy(update={"auto_batch": True})
    with pytest.raises(RecipeError, match=r"train\.auto_batch must be false in a training of several processes"):
        ParallelUpdater(new_model(), config, CPU, None, Processes(0, 2))


def test_every_document_has_one_process_and_tokens_are_balanced() -> None:
    assert divide([7, 4], 3) == [[0], [1], []]
    assert imbalance([3, 1], [[0], [1]]) == pytest.approx(0.5)
    for size in (1, 2, 3, 7):
        lengths = np.random.default_rng(0).integers(1, 100, 40)
        shares = divide(lengths, size)
        assert sorted(place for share in shares for place in share) == list(range(40))
        assert imbalance(lengths, shares) < 0.05
        assert all(lengths[share].tolist() == sorted(lengths[share]) for share in shares)


@pytest.fixture
def no_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updaters of several processes in this one."""
    monkeypatch.setattr(nn.parallel, "DistributedDataParallel", Mock())


@pytest.mark.usefixtures("no_replicas")
def test_a_process_without_documents_takes_the_shortest() -> None:
    updater = ParallelUpdater(new_model(), CONFIG, CPU, None, Processes(2, 3))
    shortest = min((0, 1), key=lambda index: len(DATA.training[index].ids))
    (batch,) = updater.batches(DATA, [[0, 1]], 1)
    assert batch.documents == (DATA.training[shortest].id,)


@pytest.mark.usefixtures("no_replicas")
def test_shares_have_the_documents_of_one_process() -> None:
    def documents_of(*updaters: Updater) -> dict[str, list[int]]:
        batches = [batch for updater in updaters for batch in updater.batches(DATA, [[3, 4], [5], [0, 1, 2]], 1)]
        assert all(batch.ids.numel() <= CONFIG.batch_tokens for batch in batches)
        rows = [row for batch in batches for row in zip(batch.documents, batch.ids, batch.mask, strict=True)]
        assert len(rows) == 6
        return {name: ids[mask].tolist() for name, ids, mask in rows}

    expected = documents_of(Updater(new_model(), CONFIG, CPU))
    for size in (2, 4):
        processes = [Processes(rank, size) for rank in range(size)]
        assert documents_of(*(ParallelUpdater(new_model(), CONFIG, CPU, None, one) for one in processes)) == expected
