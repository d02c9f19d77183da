"""Documents too long to hold their vectors, against documents that are held."""

import pytest
import torch
from torch import Tensor

from sumpool.core.model import encoder as module
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Room
from sumpool.core.model.rereading import Reread
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


@pytest.fixture
def rereads(monkeypatch: pytest.MonkeyPatch) -> list[Reread]:
    """Those who read twice, from now on every document that may be."""
    found: list[Reread] = []
    begin = Reread.__init__

    def note(self: Reread, *given: object) -> None:
        found.append(self)
        begin(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Reread, "__init__", note)
    return found


def encode(model: Summarizer, documents: tuple[Tensor, Tensor, Tensor], room: Room) -> Memory:
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(module, "CPU", room)
        return model.encode(*documents)


def assert_alike(found: Memory, expected: Memory) -> None:
    for left, right in ((found.tokens, expected.tokens), (found.source, expected.source)):
        assert torch.equal(left.mask, right.mask)
        torch.testing.assert_close(left.states[left.mask], right.states[right.mask], atol=1e-12, rtol=0)
        for name in ("positions", "sentences", "words", "ids", "origin"):
            assert torch.equal(getattr(left, name)[left.mask], getattr(right, name)[right.mask]), name
    assert found.tokens.figures.keys() == expected.tokens.figures.keys()
    (mixture,), (held,) = ([mixture() for mixture in memory.mixtures] for memory in (found, expected))
    torch.testing.assert_close(mixture.matrix(130), held.matrix(130), atol=1e-12, rtol=0)


SCORERS = ["linear", "nonlinear", "coordinate", "strided", "random", "attention_mass"]


@pytest.mark.parametrize("output", ["tied", "pointer"])
@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("pool", [{"kind": "halving"}, {"kind": "halving", "inference": "hard"}, {"kind": "hard"}])
def test_equals_holding_them(pool: dict[str, object], scorer: str, output: str, rereads: list[Reread]) -> None:
    for keep in (20, 0.3):
        model = make_model({**pool, "keep": keep, "scorer": {"kind": scorer}}, output={"kind": output})
        documents = make_documents(*LENGTHS)
        expected = encode(model, documents, Room(at_once=2**20, held=2**20))
        assert not rereads
        assert_alike(encode(model, documents, Room(at_once=24 * 16 * 8, held=1)), expected)
        assert rereads.pop()


@pytest.mark.parametrize(
    ("pool", "settings"),
    [
        ({"kind": "funnel"}, {}),
        ({"kind": "iterative", "keep": 20}, {}),
        ({"kind": "segments"}, {}),
        ({"kind": "halving", "keep": 130}, {}),
        ({"kind": "hard", "keep": 130}, {}),
        ({"kind": "halving", "keep": 20}, {"restore": True}),
    ],
)
def test_where_all_vectors_are_needed_they_are_held(pool: dict[str, object], settings: dict[str, object]) -> None:
    model, documents = make_model(pool, **settings), make_documents(*LENGTHS)
    expected = encode(model, documents, Room(at_once=2**20, held=2**20)).tokens
    found = encode(model, documents, Room(at_once=2**20, held=1)).tokens
    assert torch.equal(found.states, expected.states)


def test_a_gradient_needs_them_held(rereads: list[Reread], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CPU", Room(at_once=2**20, held=1))
    make_model({"kind": "halving", "keep": 20}).encode(*make_documents(*LENGTHS)).tokens.states.sum().backward()
    assert not rereads
