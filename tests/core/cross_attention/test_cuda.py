"""Cross-attention on a GPU, against the CPU: whole summaries, single steps, and gradients in bf16."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.cross_attention import (
    CrossAttentionConfig,
    FullCrossAttentionConfig,
    HeposCrossAttentionConfig,
    SentenceCrossAttentionConfig,
)
from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from tests.core.batches import make_tokens

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

SELECTIONS: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in kinds("sumpool.core.selection")},
    "approximate by gru": {"kind": "approximate", "encoder": {"kind": "gru"}},
}
CONFIGS: dict[str, CrossAttentionConfig] = {
    "full": FullCrossAttentionConfig(),
    "hepos": HeposCrossAttentionConfig(),
    **{
        name: SentenceCrossAttentionConfig.model_validate({"sentences": 3, "selection": selection})
        for name, selection in SELECTIONS.items()
    },
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def to_gpu(tokens: Tokens) -> Tokens:
    parts = ("states", "mask", "positions", "sentences", "words", "ids", "origin")
    return replace(tokens, **{name: getattr(tokens, name).cuda() for name in parts})


@every_config
def test_gpu_and_cpu_agree(config: CrossAttentionConfig) -> None:
    tokens = make_tokens(120, 61, 7, length=128)
    queries = torch.randn(3, 5, 16, dtype=torch.float64)
    layer, memory_encoder = config.build(16, 4).double().eval(), config.build_memory_encoder(16).double().eval()
    precomputed = layer.precompute(tokens, memory_encoder(tokens))
    expected, stepped = layer(queries, precomputed).states, layer.step(queries, precomputed)
    layer, memory_encoder, tokens = layer.cuda(), memory_encoder.cuda(), to_gpu(tokens)
    precomputed = layer.precompute(tokens, memory_encoder(tokens))
    torch.testing.assert_close(layer(queries.cuda(), precomputed).states.cpu(), expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(layer.step(queries.cuda(), precomputed).cpu(), stepped, atol=1e-10, rtol=0)


@every_config
def test_gradients_under_bf16_are_finite(config: CrossAttentionConfig) -> None:
    tokens = to_gpu(make_tokens(120, 61, 7, length=128, dtype=torch.float32))
    layer, memory_encoder = config.build(16, 4).cuda(), config.build_memory_encoder(16).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        output = layer(torch.randn(3, 5, 16, device="cuda"), layer.precompute(tokens, memory_encoder(tokens)))
        loss: Tensor = output.states.float().square().sum() + sum(output.losses.values())
    loss.backward()
    for name, parameter in nn.ModuleList([layer, memory_encoder]).named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
