from dataclasses import replace
from typing import final

import torch

from sumpool.core.model.encoder import PoolingTrace, identity
from sumpool.core.nn.states import States
from sumpool.core.pooling._base import Pooled, Pooler, keep_all
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens


@final
class PoolerWithLoss(Pooler):
    """Leaves states keep_all; its loss and metric are the number of its calls."""

    calls = 0

    def forward(self, tokens: Tokens, states: States | None = None) -> Pooled:
        assert states is not None
        self.calls += 1
        value = torch.tensor(float(self.calls))
        pooled = keep_all(tokens)
        return replace(pooled, tokens=replace(pooled.tokens, losses={"loss": value}, metrics={"calls": value}))


def test_losses_are_summed_and_metrics_named_after_layers() -> None:
    trace, pooler = PoolingTrace(identity, keep_inputs=False), PoolerWithLoss()
    tokens = trace.pool(pooler, make_tokens(9, 4), layer=0)
    tokens = trace.pool(pooler, tokens, layer=3)
    assert tokens.losses == tokens.metrics == {}
    assert trace.losses == {"loss": torch.tensor(3.0)}
    assert trace.metrics == {"layer_1.calls": torch.tensor(1.0), "layer_4.calls": torch.tensor(2.0)}
    assert len(trace.mixtures) == 2
