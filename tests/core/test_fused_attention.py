"""What scaled dot-product attention receives on a GPU: tensors for which PyTorch has fused kernels.

PyTorch checks this in ATen/native/transformers/sdp_utils_cpp.h, and computes all weights in float32 otherwise.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from tests.core.attention.test_contract import build, over
from tests.core.emulated_gpu import GpuTensor, emulated_gpu, on_gpu
from tests.core.model.test_summarizer import make_documents
from tests.core.test_emulated_gpu import small_model


class AttentionCalls(TorchFunctionMode):
    """Records what no fused kernel of a GPU takes.

    Attributes:
        calls: Number of calls.
        unfused: Shapes of the queries of such calls, and strides of their masks.
    """

    def __init__(self) -> None:
        TorchFunctionMode.__init__(self)
        self.calls = 0
        self.unfused: list[tuple[object, ...]] = []

    def __torch_function__(
        self, func: object, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        given = kwargs or {}
        if func is F.scaled_dot_product_attention:
            self.calls += 1
            self._check(*args, **given)
        return func(*args, **given)  # type: ignore[operator]

    def _check(self, *tensors: Tensor | None, **named: Tensor | None) -> None:
        given = [tensor for tensor in (*tensors, named.get("attn_mask")) if tensor is not None]
        if any(tensor.dim() != 4 or tensor.stride(-1) != 1 for tensor in given):
            self.unfused.append((given[0].shape, given[-1].stride()))


@over(kinds("sumpool.core.attention"))
def test_attentions_take_fused_kernels(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant), make_tokens(150, 70)
    expected = attention(tokens.with_lengths([150, 70]))
    with emulated_gpu(), AttentionCalls() as attentions:
        source = map(GpuTensor, (tokens.states, tokens.mask, tokens.sentences, tokens.words, tokens.ids))
        moved = Tokens.from_source(*source).with_lengths([150, 70])
        actual = on_gpu(attention)(moved)
    assert not attentions.unfused
    assert isinstance(actual, GpuTensor)
    real = tokens.mask[..., None]
    torch.testing.assert_close(actual.memory * real, expected * real, atol=1e-9, rtol=0)


def test_attention_over_pooled_states_takes_fused_kernels() -> None:
    documents = make_documents(70, 40)
    with emulated_gpu(), AttentionCalls() as attentions, torch.no_grad():
        on_gpu(small_model("pooling/distilling")).encode(*map(GpuTensor, documents), lengths=[70, 40])
    assert attentions.calls
    assert not attentions.unfused
