"""A model that is measured in no time, and what it is measured on."""

from dataclasses import dataclass

import torch

from sumpool.bench.measures import Work
from sumpool.bench.workload import Conditions
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.output import TiedOutputConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig

CPU = torch.device("cpu")
CONDITIONS = Conditions(vocabulary=40, device=CPU, precision=torch.float32)
LAYER = EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8))
POOLED = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=32,
    source_length=32,
    encoder=(LAYER, LAYER.model_copy(update={"pool": HalvingPoolerConfig(keep=8)})),
    decoder=DecoderConfig(layers=1),
    output=TiedOutputConfig(),
)


@dataclass
class Time:
    """Time that passes only while something is measured."""

    now: float = 0.0

    def clock(self, work: Work, device: torch.device) -> float:
        del device
        before = self.now
        work()
        return self.now - before
