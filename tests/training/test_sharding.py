"""Sharding sums the gradients of processes that use other parameters, and holds a part of every tensor."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor, nn

from sumpool.training import sharding
from sumpool.training.distributed import Processes, join_processes
from sumpool.training.sharded_tensors import gather, part_of, parts_of, whole_tensor
from sumpool.training.sharding import Sharding, is_sharded
from tests.training.several import PROCESSES, free_port, join_as
from tests.training.toy import CONFIG, new_model

FSDP = CONFIG.model_copy(update={"parallel": "fsdp"})
CPU = torch.device("cpu")
BATCHES = [[(0, 1.0), (1, 3.0)], [(1, -2.0)]]
"""For each process its batches: the map that one uses, and the input of it."""


class Maps(nn.Module):
    """Maps of which a batch uses one, and one that none uses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.maps = nn.ModuleList(nn.Linear(1, 5) for _ in range(3)).double()

    def forward(self, number: int, value: float) -> Tensor:
        loss: Tensor = self.maps[number](torch.full((1,), value, dtype=torch.float64)).pow(2).sum()
        return loss


def _shard(rank: int, port: str, path: Path) -> None:
    with join_as(rank, 2, port), join_processes("cpu") as processes:
        module = Maps()
        if rank:  # the others take the weights of process 0
            nn.init.zeros_(next(module.parameters()))
        whole = {name: parameter.detach().clone() for name, parameter in Maps().named_parameters()}
        sharded = Sharding(module, CPU, processes)
        with sharded.whole():
            values = [module(1, 2.0).item() for _ in range(rank + 1)]
        assert all(hasattr(parameter, "to_local") for parameter in module.parameters())
        batches = BATCHES[rank]
        for place, (number, value) in enumerate(batches):
            sharded.backward(2 * module(number, value), is_last=place == len(batches) - 1)
        gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
        optimizer = torch.optim.AdamW(module.parameters(), lr=1.0, fused=True)
        optimizer.found_inf = torch.ones(())  # type: ignore[attr-defined]
        optimizer.step()
        result: dict[str, Any] = {
            "values": values,
            "gradients": {name: whole_tensor(gradient) for name, gradient in gradients.items()},
            "weights": gather(dict(module.named_parameters()), processes),
            "bytes": sum(p.to_local().nbytes for p in module.parameters() if hasattr(p, "to_local")),
            "parts": all(
                torch.equal(part.to_local(), parameter.to_local())
                for part, parameter in zip(
                    parts_of(whole, dict(module.named_parameters())).values(), module.parameters(), strict=True
                )
                if hasattr(part, "to_local") and hasattr(parameter, "to_local")
            ),
        }
        torch.save(result, path / f"{rank}.pt")


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
    sum(module(number, value) for batches in BATCHES for number, value in batches).backward()
    expected = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    for result in (first, second):
        assert result["gradients"].keys() == expected.keys()  # none of the map that no process uses
        for name, gradient in expected.items():
            torch.testing.assert_close(result["gradients"][name], gradient, atol=1e-12, rtol=0)
        assert result["parts"]
    assert second["values"] == 2 * first["values"] == 2 * [pytest.approx(module(1, 2.0).item())]
    for name, parameter in module.named_parameters():  # an update of which the gradient is not finite is left out
        assert torch.equal(first["weights"][name], parameter)
    assert not second["weights"]
    assert (first["bytes"], second["bytes"]) == (6 * 3 * 8, 4 * 3 * 8)  # 3 and 2 rows of 5, for weights and biases


def test_tensors_of_one_process_are_whole() -> None:
    tensor = torch.ones(3)
    assert whole_tensor(tensor) is tensor
    assert part_of(tensor, torch.zeros(3)) is tensor
    assert gather({"a": tensor}, Processes())["a"] is tensor


def test_large_models_are_sharded(monkeypatch: pytest.MonkeyPatch) -> None:
    for parallel, size, local, available, expected in (
        ("fsdp", 1, 1, 0, False),
        ("ddp", 2, 2, 0, False),
        ("fsdp", 2, 2, 10**12, True),
        ("auto", 2, 1, 10**12, False),
        ("auto", 2, 1, 9, False),
        ("auto", 2, 2, 15, True),  # two processes share the memory
        ("auto", 2, 1, 7, True),
    ):
        model = new_model()
        weights = sum(parameter.nbytes for parameter in model.parameters())
        monkeypatch.setattr(sharding, "available", Mock(return_value=available * weights))
        monkeypatch.setattr(Processes, "from_main", lambda _, compute: compute())
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
        config = FSDP.model_copy(update={"parallel": parallel})
        assert is_sharded(config, model, CPU, Processes(0, size)) is expected
