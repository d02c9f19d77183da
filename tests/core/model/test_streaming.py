"""Documents too long to hold their vectors, against documents that are held."""

import pytest
import torch
from torch import Tensor

from sumpool.core.model import encoder as module
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import MemoryBudget
from sumpool.core.model.summarizer import Memory, Summarizer

VOCAB = 60
LENGTHS = (130, 48, 0, 7, 100, 31)


def make_model(pool: dict[str, object], **settings: object) -> Summarizer:
    torch.manual_seed(1)
    attention = {"kind": "blockwise", "block": 8, "positions": "relative"}
    encoder = [{"attention": attention}, {"attention": attention, "pool": pool}, {"attention": {"kind": "vanilla"}}]
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200}
    return Summarizer(ModelConfig.model_validate({**sizes, "encoder": encoder, **settings}), VOCAB).double().eval()


def make_documents(*lengths: int) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    return ids, mask, torch.arange(max(lengths)).expand(mask.shape) // 7


def encode(model: Summarizer, documents: tuple[Tensor, Tensor, Tensor], room: MemoryBudget) -> Memory:
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(module, "CPU", room)
        return model.encode(*documents)


def assert_alike(found: Memory, expected: Memory) -> None:
    for left, right in ((found.tokens, expected.tokens), (found.source, expected.source)):
        assert torch.equal(left.mask, right.mask)
        torch.testing.assert_close(left.states[left.mask], right.states[right.mask], atol=1e-12, rtol=0)
        for name in ("positions", "sentences", "words", "ids", "origin"):
            assert torch.equal(getattr(left, name)[left.mask], getattr(right, name)[right.mask]), name
    assert found.tokens.metrics.keys() == expected.tokens.metrics.keys()
    (mixture,), (held,) = ([mixture() for mixture in memory.mixtures] for memory in (found, expected))
    torch.testing.assert_close(mixture.matrix(130), held.matrix(130), atol=1e-12, rtol=0)


def read_with_gradient(model: Summarizer, documents: tuple[Tensor, Tensor, Tensor]) -> Memory:
    """Hold all vectors, which a gradient needs, and give each pooling all of them."""
    return model.encode(*documents)


SCORERS = ["linear", "nonlinear", "coordinate", "strided", "random", "attention_mass"]
POOLERS: list[dict[str, object]] = [
    {"kind": "halving"},
    {"kind": "halving", "inference": "hard"},
    {"kind": "hard"},
    {"kind": "iterative"},
]


@pytest.mark.parametrize("output", ["tied", "pointer"])
@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("pool", POOLERS, ids=lambda pool: " ".join(pool.values()))
@pytest.mark.parametrize("keep", [20, 0.3, 130])
def test_vectors_that_are_read_twice_or_once_are_those_that_a_gradient_holds(
    keep: float, pool: dict[str, object], scorer: str, output: str
) -> None:
    model = make_model({**pool, "keep": keep, "scorer": {"kind": scorer}}, output={"kind": output})
    documents = make_documents(*LENGTHS)
    expected = read_with_gradient(model, documents)
    for held in (2**20, 1):
        assert_alike(encode(model, documents, MemoryBudget(at_once=24 * 16 * 8, held=held)), expected)


@pytest.mark.parametrize("pool", [{"kind": "funnel"}, {"kind": "segments"}, {"kind": "halving", "keep": 20}])
@pytest.mark.parametrize("restore", [True, False])
def test_where_all_vectors_are_needed_they_are_held(pool: dict[str, object], restore: bool) -> None:
    model, documents = make_model(pool, restore=restore), make_documents(*LENGTHS)
    expected = read_with_gradient(model, documents).tokens
    found = encode(model, documents, MemoryBudget(at_once=24 * 16 * 8, held=1)).tokens
    torch.testing.assert_close(found.states[found.mask], expected.states[found.mask], atol=1e-12, rtol=0)


def test_long_documents_run_through_the_layers_twice_and_others_once() -> None:
    model, documents = make_model({"kind": "halving", "keep": 20}), make_documents(*LENGTHS)
    for held, times in ((130 * 16 * 8, 1), (130 * 16 * 8 - 1, 2)):
        given: list[int] = []
        hook = model.encoder.layers[1].register_forward_pre_hook(
            lambda _, tokens, given=given: given.append(int(tokens[0].mask.sum()))
        )
        encode(model, documents, MemoryBudget(at_once=24 * 16 * 8, held=held))
        hook.remove()
        assert sum(given) == times * sum(LENGTHS)
