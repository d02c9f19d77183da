"""Settings of `sumpool bench scaling`."""

from typing import Annotated

from pydantic import Field

from sumpool.bench.config import Count
from sumpool.settings import Settings

Positive = Annotated[float, Field(gt=0, le=1_000_000)]


class ScalingConfig(Settings):
    """Devices and network for which a training is projected; those of machines of eight H100 by default."""

    devices: tuple[Count, ...] = Field((8, 64, 256, 1024), min_length=1)
    """Numbers of devices."""
    machine: Count = 8
    """Devices of a machine."""
    teraflops: Positive = 989.0
    """Matrix rate of a device in bf16, 10^12 operations per second."""
    utilization: float = Field(0.4, gt=0, le=1)
    """Share of the matrix rate that training reaches."""
    link: Positive = 450.0
    """Gigabytes per second that a device sends within a machine."""
    network: Positive = 50.0
    """Gigabytes per second that a device sends to other machines."""
    price: Positive = 3.0
    """Price of an hour of a device."""
