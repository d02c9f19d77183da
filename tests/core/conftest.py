"""Fixtures shared by the tests of the core."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Seed random inputs."""
    torch.manual_seed(0)


@pytest.fixture(params=["bf16", "autocast"])
def half_precision(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    """Data type of weights and states for a test in half precision, under autocast if it is float32.

    Products of float64 stay exact under autocast. Without instructions for bf16, torch emulates it.
    """
    is_autocast = request.param == "autocast"
    with torch.autocast("cpu", torch.bfloat16, enabled=is_autocast):
        yield torch.float32 if is_autocast else torch.bfloat16
