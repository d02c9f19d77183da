"""The model and its search on an emulated GPU: results of the CPU, and a budget of synchronisations."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from sumpool.core.decoding.beam import sample, search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, NoRepeatWords, Rules, TokenSurfaces
from sumpool.core.model import chunked_encoding
from sumpool.core.model.chunked_encoding import Blocks
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from tests.core.attention.test_contract import build, over
from tests.core.emulated_gpu import CUDA, GpuTensor, emulated_gpu, on_gpu
from tests.core.model.test_summarizer import VOCAB, make_documents, make_model

RECIPES = Path(__file__).parents[2] / "recipes/variants"
CHECK_BUDGET = 2
"""Synchronisations every sixteenth token of a search, with repeated n-grams forbidden, and of samples: which documents
have finished, and their hypotheses. Other tokens have none."""
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


@pytest.mark.parametrize(
    ("cause", "wait"),
    [
        ("item", lambda tensor: tensor.sum().item()),
        ("item", lambda tensor: bool((tensor > 0).any())),
        ("item", lambda tensor: range(tensor.sum())),
        ("copy to host", lambda tensor: tensor.tolist()),
        ("copy to host", lambda tensor: tensor.cpu()),
        ("nonzero", lambda tensor: tensor.nonzero()),
        ("mask as index", lambda tensor: tensor[tensor > 1]),
        ("unique", lambda tensor: tensor.unique()),
        ("repeat_interleave", lambda tensor: tensor.repeat_interleave(tensor)),
        ("copy to device", lambda tensor: tensor[[0, 1]]),
        ("copy to device", lambda tensor: tensor.new_tensor([1, 2])),
        ("copy to device", lambda tensor: torch.tensor([1, 2], device=tensor.device)),
        ("copy to device", lambda tensor: torch.ones(2).to(tensor.device)),
        ("copy of pageable memory", lambda tensor: torch.ones(2).to(tensor.device, non_blocking=True)),
        (None, lambda tensor: torch.ones(2).pin_memory().to(tensor.device, non_blocking=True)),
        (None, lambda tensor: tensor.masked_fill(tensor > 1, 0).topk(2)),
        (None, lambda tensor: tensor + torch.tensor(1)),
        (None, lambda tensor: tensor.index_select(0, torch.zeros(2, dtype=torch.long, device=tensor.device))),
    ],
)
def test_the_device_counts_what_the_host_waits_for(cause: str | None, wait: Callable[[Tensor], object]) -> None:
    with emulated_gpu() as gpu:
        wait(GpuTensor(torch.tensor([1, 2, 3])))
    assert gpu.synchronisations == ({f"caller: {cause}": 1} if cause else {})


def test_the_device_refuses_tensors_of_the_host() -> None:
    with emulated_gpu():
        tensor = torch.ones(3, device=CUDA)
        assert (tensor.device, tensor.is_cuda) == (CUDA, True)
        with pytest.raises(RuntimeError, match=r"add.Tensor must have all tensors on one device, got \[\(3,\)\]"):
            tensor + torch.ones(3)
        with pytest.raises(RuntimeError, match="index must have all tensors on one device"):
            torch.ones(3)[torch.zeros(2, dtype=torch.long, device=CUDA)]
    with pytest.raises(RuntimeError, match="must run inside emulated_gpu"):
        tensor + 1


@over(kinds("sumpool.core.attention"))
def test_synchronisations_of_a_layer(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant).train(), make_tokens(150, 70)
    with emulated_gpu() as gpu:
        source = map(GpuTensor, (tokens.states, tokens.mask, tokens.sentences, tokens.words, tokens.ids))
        moved = Tokens.from_source(*source).with_lengths([150, 70])
        mixed = on_gpu(attention)(moved.with_states(moved.states.requires_grad_()))
        (mixed.sum() + attention.attention_received(moved, include_self=True).sum()).backward()
    assert not gpu.synchronisations


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


def test_a_gpu_has_its_own_budget_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = []

    def blocks(mask: Tensor, block: int, max_tokens: int, lengths: Sequence[int]) -> Blocks:
        budgets.append(max_tokens)
        return Blocks(mask, block, max_tokens, lengths)

    monkeypatch.setattr(chunked_encoding, "Blocks", blocks)
    model, documents = make_model(), make_documents(70, 40)
    with torch.no_grad(), emulated_gpu():
        model.encode(*documents)
        on_gpu(model).encode(*map(GpuTensor, documents))
    assert budgets == [2**20 * 6 // 128, 2**28 // 128]


def generate(
    model: SummarizationModel, *documents: Tensor, longest: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[Counter[str]], list[int]]:
    """Search and sample summaries; also the synchronisations of both, and the documents kept by the search."""
    kept: list[int] = []
    select = DecoderState.select

    def record(state: DecoderState, indices: Tensor) -> DecoderState:
        kept.append(len(indices))
        return select(state, indices)

    monkeypatch.setattr(DecoderState, "select", record)
    with emulated_gpu() as gpu, torch.no_grad():
        memory = model.encode(*documents)
        lengths = [Lengths(length, length) for length in (3, 4, longest)]
        surfaces = TokenSurfaces(
            [b"", b"", b"", b"", *(b" " * (token % 3 > 0) + b"%d" % token for token in range(4, VOCAB))]
        )
        rules, device = Rules((), [NoRepeatTokens(2), NoRepeatWords(2, surfaces)]), memory.ids.device
        before = gpu.synchronisations.copy()
        hypotheses = search(model.step, model.start(memory, 3, 31), lengths, Ranking(3), rules, device=device)
        of_search = gpu.synchronisations - before
        documents_kept = kept.copy()
        draws = torch.rand(len(lengths), 2, 31, generator=torch.Generator().manual_seed(1)).to(device)
        before = gpu.synchronisations.copy()
        samples = sample(model.step, model.start(memory, 2, 31), lengths, draws, 1.0, rules)
        waits = [of_search, gpu.synchronisations - before]
    monkeypatch.undo()
    return ([[one.tokens for one in document] for document in hypotheses], samples), waits, documents_kept


@pytest.mark.slow
def test_summaries_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = make_documents(70, 40, 60)
    expected, _, kept = generate(make_model().double(), *documents, longest=30, monkeypatch=monkeypatch)
    assert kept == [2, 1]
    model, copies = on_gpu(make_model().double()), [GpuTensor(part) for part in documents]
    shorter, waits_of_shorter, _ = generate(model, *copies, longest=20, monkeypatch=monkeypatch)
    actual, waits, kept = generate(model, *copies, longest=30, monkeypatch=monkeypatch)
    assert actual == expected != shorter
    assert kept == [1], "a GPU drops documents when half of them have finished"
    assert waits == waits_of_shorter, "ten more tokens without a check"
    assert [wait.total() for wait in waits] == [2 * CHECK_BUDGET] * 2, waits
