import pytest
import torch

from sumpool.bench.workload import Conditions, Subject
from sumpool.studies.config import ScalingConfig
from sumpool.studies.scaling import StepCost, measure_scaling, scaling_result
from tests.training.toy import MODEL

CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
MIB = 2**20
COST = StepCost(operations=10**9, weights=8 * MIB, gradients=8 * MIB, activations=MIB, tokens=1000)
SETTINGS = ScalingConfig(devices=(8, 64), teraflops=1, utilization=0.5, link=10, network=1, price=2)


def test_gradients_are_those_of_all_parameters() -> None:
    (step,) = measure_scaling(MODEL, 64, ScalingConfig(), CONDITIONS).rows["scaling_step"]
    parameters = sum(parameter.numel() for parameter in Subject(MODEL, CONDITIONS).model.parameters())
    assert step["gradients"] == pytest.approx(4 * parameters / 1e9)
    assert step["weights"] == pytest.approx(parameters / 1e6)
    assert step["operations"] > 0
    assert not torch.distributed.is_initialized()


def test_projection() -> None:
    """A token takes 2 microseconds of computation; an update has 80,000 of them."""
    rows = scaling_result(COST, 80_000, SETTINGS).rows["scaling"]
    assert [(row["devices"], row["parallel"]) for row in rows] == [
        (devices, parallel) for devices in (8, 64) for parallel in ("ddp", "fsdp")
    ]
    ddp, fsdp, network, _ = rows
    assert ddp["memory"] == pytest.approx(32 / 1024)
    assert fsdp["memory"] == pytest.approx((4 + 16) / 1024)
    assert ddp["sent"] == pytest.approx(2 * 7 / 8 * 8 * MIB / 1e9)
    assert fsdp["sent"] == pytest.approx(ddp["sent"])
    assert ddp["compute"] == pytest.approx(20)
    assert ddp["communication"] == pytest.approx(1000 * ddp["sent"] / 10)
    assert ddp["documents"] == 10
    assert ddp["days"] == pytest.approx(1e12 / 80_000 * 0.02 / 86_400)
    assert ddp["price"] == pytest.approx(1e12 / 80_000 * 0.02 * 8 / 3600 * 2)
    assert network["communication"] == pytest.approx(1000 * 2 * 63 / 64 * 8 * MIB / 1e9)  # slower than computation
    assert network["days"] == pytest.approx(1e12 / 80_000 * network["communication"] / 1000 / 86_400)


def test_communication_is_hidden_by_so_many_tokens() -> None:
    for row in scaling_result(COST, 80_000, SETTINGS).rows["scaling"]:
        tokens = row["hidden"] * row["devices"]
        (again,) = (
            line
            for line in scaling_result(COST, round(tokens), SETTINGS).rows["scaling"]
            if (line["devices"], line["parallel"]) == (row["devices"], row["parallel"])
        )
        assert again["compute"] == pytest.approx(again["communication"], rel=1e-3)
