"""The model on an emulated GPU: results of the CPU, fused kernels, and a budget of synchronisations.

PyTorch checks what its fused kernels take in ATen/native/transformers/sdp_utils_cpp.h, and computes all weights in
float32 otherwise.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from sumpool.core.attention._base import SoftmaxAttention
from sumpool.core.model import encoder as encoder_module
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Chunk, make_chunks
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from tests.core.attention.test_contract import build, over
from tests.core.batches import make_tokens
from tests.core.emulated_gpu import GpuTensor, emulated_gpu, on_gpu
from tests.core.model.test_summarizer import VOCAB, make_documents, make_model

RECIPES = Path(__file__).parents[2] / "recipes/variants"
POOLS = [
    f"{family}/{kind}" for family in ("pooling", "scoring", "boundaries") for kind in kinds(f"sumpool.core.{family}")
]
CROSS_ATTENTIONS = [
    f"{family}/{kind}"
    for family in ("cross_attention", "selection", "sentence_encoding", "output")
    for kind in kinds(f"sumpool.core.{family}")
]
FAST = ("pooling/halving", "scoring/attention_mass", "boundaries/gumbel", "selection/approximate", "output/pointer")
"""Variants tested without --slow: one of every family that the host could wait for."""


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
def test_layers_take_fused_kernels_and_wait_for_nothing(variant: str) -> None:
    attention, tokens = build(variant), make_tokens(150, 70)
    expected = attention(tokens.with_lengths([150, 70]))
    with emulated_gpu() as gpu, AttentionCalls() as attentions:
        source = map(GpuTensor, (tokens.states, tokens.mask, tokens.sentences, tokens.words, tokens.ids))
        moved = Tokens.from_source(*source).with_lengths([150, 70])
        actual = on_gpu(attention)(moved)
        mixed = attention.train()(moved.with_states(moved.states.requires_grad_()))
        if isinstance(attention, SoftmaxAttention):
            mixed = torch.cat([mixed.flatten(), attention.attention_received(moved, include_self=True).flatten()])
        mixed.sum().backward()
    assert not gpu.synchronisations
    assert not attentions.unfused
    assert isinstance(actual, GpuTensor)
    real = tokens.mask[..., None]
    torch.testing.assert_close(actual.memory * real, expected * real, atol=1e-9, rtol=0)


def small_model(variant: str) -> SummarizationModel:
    """A model with one pooling whose pooling, decoder and output are those of a recipe."""
    settings = yaml.safe_load((RECIPES / f"{variant}.yaml").read_text())["model"]
    pools = [layer["pool"] for layer in settings["encoder"] if "pool" in layer]
    pool = pools[0] if variant in POOLS else {"kind": "halving"}
    pool |= {"keep": 20} if "keep" in pool else {}
    config = {
        "dim": 16,
        "heads": 4,
        "feed_forward": 16,
        "encoder": [
            {"attention": {"kind": "blockwise", "block": 16}, "pool": pool},
            {"attention": {"kind": "vanilla"}},
        ],
        "decoder": settings["decoder"] | {"layers": 1},
        "output": settings["output"],
    }
    torch.manual_seed(0)
    return SummarizationModel(ModelConfig.model_validate(config), VOCAB).double().eval()


def train_and_step(
    model: SummarizationModel, *documents: Tensor, lengths: Sequence[int]
) -> tuple[list[Tensor], Counter[str], Counter[str]]:
    """Losses, scores and distributions of two steps, and the synchronisations of a loss and of the second step."""
    with emulated_gpu() as gpu:
        scores, losses, _ = model(*documents, target=documents[0][:, 36:44], phrases=documents[2], lengths=lengths)
        (scores.nll + sum(losses.values())).backward()
        of_loss = gpu.synchronisations.copy()
        with torch.no_grad():
            state = model.start(model.encode(*documents, lengths=lengths), 2, 30)
            last = documents[0][:, :2].flatten()
            first, state = model.step(last, state)
            before, copies = gpu.synchronisations.copy(), gpu.copies.copy()
            second, _ = model.step(last, state)
            assert gpu.copies == copies, "a CUDA graph would repeat the copy of memory that is used again"
        tensors = [scores.log_prob.detach(), *losses.values(), first, second]
        return tensors, of_loss, gpu.synchronisations - before


@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")
@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, marks=[] if variant in FAST else pytest.mark.slow)
        for variant in (*POOLS, *CROSS_ATTENTIONS)
    ],
)
def test_losses_and_steps_are_those_of_the_cpu(variant: str) -> None:
    documents = make_documents(70, 40)
    expected, _, _ = train_and_step(small_model(variant), *documents, lengths=[70, 40])
    model = on_gpu(small_model(variant))
    actual, of_loss, of_step = train_and_step(model, *map(GpuTensor, documents), lengths=[70, 40])
    for tensor, expected_tensor in zip(actual, expected, strict=True):
        assert isinstance(tensor, GpuTensor)
        torch.testing.assert_close(tensor.memory, expected_tensor, atol=1e-9, rtol=0)
    by_sentence = "sentence" in type(model.decoder.layers[0].cross_attention).__name__.lower()
    segments = "segments" in str(type(model.encoder.poolers["0"])).lower()
    assert of_loss.total() == by_sentence + segments, of_loss
    assert not of_step, of_step


def test_attention_over_pooled_states_takes_fused_kernels() -> None:
    documents = make_documents(70, 40)
    with emulated_gpu(), AttentionCalls() as attentions, torch.no_grad():
        on_gpu(small_model("pooling/distilling")).encode(*map(GpuTensor, documents), lengths=[70, 40])
    assert attentions.calls
    assert not attentions.unfused


def test_a_gpu_has_its_own_budget_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = []

    def chunks(mask: Tensor, block: int, max_tokens: int, lengths: Sequence[int]) -> list[Chunk]:
        budgets.append(max_tokens)
        return make_chunks(mask, block, max_tokens, lengths)

    monkeypatch.setattr(encoder_module, "make_chunks", chunks)
    model, documents = make_model(), make_documents(70, 40)
    with torch.no_grad(), emulated_gpu():
        model.encode(*documents)
        on_gpu(model).encode(*map(GpuTensor, documents))
    assert budgets == [2**20 * 6 // 128, 2**28 // 128]
