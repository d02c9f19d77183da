import pytest
import torch

from sumpool.bench.measures import roofline
from sumpool.bench.measures.roofline import probes

CPU = torch.device("cpu")


@pytest.mark.usefixtures("small_probes")
def test_probes_of_the_machine() -> None:
    found = probes(CPU, ["fp32", "bf16", "int8", "fp32"])
    assert list(found) == ["fp32 products", "bf16 products", "int8 products", "memory read", "memory copied"]
    assert found["fp32 products"].amount == 2 * 8**3
    assert (found["memory read"].amount, found["memory copied"].amount) == (1024, 2048)
    for probe in found.values():
        probe.work()


def test_every_device_has_sizes() -> None:
    assert set(roofline.SIDE) == set(roofline.BUFFER) == {"cpu", "cuda"}
