"""States recomputed for documents beyond the memory budget, against stored states."""

import pytest
import torch
from torch import Tensor

from sumpool.core.model import chunked_encoding
from sumpool.core.model.chunked_encoding import MemoryBudget
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import Memory, SummarizationModel
from tests.core.model.test_summarizer import VOCAB, make_documents

LENGTHS = (130, 48, 0, 7, 100, 31)


def make_model(pool: dict[str, object], **settings: object) -> SummarizationModel:
    torch.manual_seed(1)
    attention = {"kind": "blockwise", "block": 8, "positions": "relative"}
    encoder = [{"attention": attention}, {"attention": attention, "pool": pool}, {"attention": {"kind": "vanilla"}}]
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200}
    return (
        SummarizationModel(ModelConfig.model_validate({**sizes, "encoder": encoder, **settings}), VOCAB).double().eval()
    )


def encode(model: SummarizationModel, documents: tuple[Tensor, Tensor, Tensor], budget: MemoryBudget) -> Memory:
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(chunked_encoding, "CPU_BUDGET", budget)
        return model.encode(*documents)


def assert_same_memory(actual: Memory, expected: Memory) -> None:
    for left, right in ((actual.tokens, expected.tokens), (actual.source, expected.source)):
        assert torch.equal(left.mask, right.mask)
        torch.testing.assert_close(left.states[left.mask], right.states[right.mask], atol=1e-12, rtol=0)
        for name in ("positions", "sentences", "words", "ids", "origin"):
            assert torch.equal(getattr(left, name)[left.mask], getattr(right, name)[right.mask]), name
    assert actual.tokens.metrics.keys() == expected.tokens.metrics.keys()
    (mixture,), (expected_mixture,) = ([mixture() for mixture in memory.mixtures] for memory in (actual, expected))
    torch.testing.assert_close(mixture.matrix(130), expected_mixture.matrix(130), atol=1e-12, rtol=0)


SCORERS = ["linear", "nonlinear", "coordinate", "strided", "random", "attention_mass"]
POOLERS: list[dict[str, object]] = [
    {"kind": "halving"},
    {"kind": "halving", "inference": "hard"},
    {"kind": "hard"},
    {"kind": "iterative"},
    {"kind": "iterative", "weights": "softmax"},
]


@pytest.mark.parametrize(
    ("pool", "scorer", "keep", "output"),
    [
        pytest.param(
            pool,
            scorer,
            (20, 0.3, 130)[(row + column) % 3],
            ("tied", "pointer")[(row + column) % 2],
            marks=[] if scorer in ("linear", "attention_mass") else pytest.mark.slow,
        )
        for row, pool in enumerate(POOLERS)
        for column, scorer in enumerate(SCORERS)
    ],
)
def test_recomputed_and_stored_states_equal_those_with_gradients(
    pool: dict[str, object], scorer: str, keep: float, output: str
) -> None:
    """Every pooler with every scorer, and both with every number of states and every output."""
    model = make_model({**pool, "keep": keep, "scorer": {"kind": scorer}}, output={"kind": output})
    documents = make_documents(*LENGTHS)
    expected = model.encode(*documents)
    for stored in (2**20, 1):
        assert_same_memory(encode(model, documents, MemoryBudget(chunk=24 * 16 * 8, document=stored)), expected)


@pytest.mark.parametrize("pool", [{"kind": "funnel"}, {"kind": "segments"}, {"kind": "halving", "keep": 20}])
@pytest.mark.parametrize("restore", [True, False])
def test_states_are_stored_where_the_pooler_needs_all(pool: dict[str, object], restore: bool) -> None:
    model, documents = make_model(pool, restore=restore), make_documents(*LENGTHS)
    expected = model.encode(*documents).tokens
    actual = encode(model, documents, MemoryBudget(chunk=24 * 16 * 8, document=1)).tokens
    torch.testing.assert_close(actual.states[actual.mask], expected.states[expected.mask], atol=1e-12, rtol=0)


def test_only_documents_beyond_the_budget_are_encoded_twice() -> None:
    model, documents = make_model({"kind": "halving", "keep": 20}), make_documents(*LENGTHS)
    for stored, passes in ((130 * 16 * 8, 1), (130 * 16 * 8 - 1, 2)):
        computed: list[int] = []
        hook = model.encoder.layers[1].register_forward_pre_hook(
            lambda _, tokens, computed=computed: computed.append(int(tokens[0].mask.sum()))
        )
        encode(model, documents, MemoryBudget(chunk=24 * 16 * 8, document=stored))
        hook.remove()
        assert sum(computed) == passes * sum(LENGTHS)
