"""What hypotheses have written, beside a plain list for each of them."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from sumpool.core.model.kv_cache import BeamCache, CompactingCache, StaticCache

CUDA = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
)
HEADS, HEAD_DIM, LAYERS = 2, 3, 2
KINDS = ["moving", "fixed"]


class Plain:
    """Every hypothesis has its own keys, (heads, head_dim) a token, layer by layer; its values are their negatives."""

    def __init__(self, documents: int, beams: int) -> None:
        self.beams = beams
        self.keys: list[list[Tensor]] = [[] for _ in range(documents * beams)]

    def add(self, newest: Tensor) -> None:
        """Add tokens (layers, documents, heads, beams, head_dim)."""
        rows = newest.permute(1, 3, 0, 2, 4).flatten(0, 1)
        self.keys = [[*keys, row] for keys, row in zip(self.keys, rows, strict=True)]

    def take(self, rows: Tensor) -> None:
        self.keys = [self.keys[row] for row in rows.tolist()]


def begin(kind: str, documents: int, beams: int, steps: int, device: str = "cpu") -> BeamCache:
    if kind == "moving":
        return CompactingCache.nothing(documents, beams, torch.device(device))
    return StaticCache.nothing(documents, beams, steps, torch.device(device))


def number(chosen: Tensor, beams: int) -> Tensor:
    """Number the hypotheses that are chosen of each document, (documents, some) of its own."""
    return (torch.arange(len(chosen))[:, None] * beams + chosen).flatten()


def both(
    documents: int, beams: int, steps: int, kind: str = "moving", device: str = "cpu", fewer: bool = False
) -> Iterator[tuple[BeamCache, list[tuple[Tensor, Tensor]], Plain]]:
    """Write at random, and give what is written and what it shows after every step: keys and pasts by layer."""
    torch.manual_seed(beams)
    written = begin(kind, documents, beams, steps, device)
    plain = Plain(documents, beams)
    for step in range(steps):
        newest = torch.randn(LAYERS, len(written.past), HEADS, beams, HEAD_DIM, device=device)
        written = written.advance()
        shown = [written.add(layer, torch.stack([key, -key])) for layer, key in enumerate(newest)]
        assert all(torch.equal(key, -value) for key, value, _ in shown)
        plain.add(newest)
        yield written, [(key, past) for key, _, past in shown], plain
        if step % 3:
            rows = number(torch.randint(beams, (len(written.past), beams)), beams)
            written = written.take(rows.to(device))
            plain.take(rows)
        if step % 17 == 16 and len(written.past) > 1:
            kept = torch.randperm(len(written.past))[1:]
            written = written.select(kept.to(device))
            plain.take((kept[:, None] * beams + torch.arange(beams)).flatten())
        if step % 23 == 22 and fewer and beams > 1:
            rows = number(torch.stack([torch.randperm(beams)[1:] for _ in written.past]), beams)
            written = written.take(rows.to(device))
            plain.take(rows)
            beams -= 1


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 2, 5])
def test_a_hypothesis_sees_exactly_what_it_descends_from(beams: int, kind: str, device: str) -> None:
    fewer = kind == "moving"  # shapes that are fixed keep all rows
    for step, (written, shown, plain) in enumerate(both(7, beams, 100, kind, device, fewer)):
        assert int(written.place) == step
        for row, own in enumerate(plain.keys):
            document, beam = divmod(row, written.past.size(1))
            for layer, (keys, past) in enumerate(shown):
                found = keys[document].transpose(0, 1)[past[document, beam] == 0]  # (tokens, heads, head_dim)
                expected = torch.stack([key[layer] for key in own])
                order, expected_order = (part[:, 0, 0].argsort() for part in (found, expected))
                assert torch.equal(found[order], expected[expected_order])


def test_room_is_made_for_what_somebody_descends_from() -> None:
    sizes = [shown[0][0].size(2) for _, shown, _ in both(1, 4, 300)]
    assert max(sizes) < 600, "of 1,200 tokens, hypotheses of one document share nearly all that they kept"


def test_what_no_step_has_filled_is_not_read() -> None:
    for written, shown, _ in both(3, 3, 100):
        assert all(key.isfinite().all() for key, _ in shown)
        for room in written.rooms:
            room[:, :, :, shown[0][0].size(2) :] = torch.nan


def test_fixed_shapes_never_change() -> None:
    written = begin("fixed", 3, 2, 20)
    shapes = set()
    for _ in range(20):
        written = written.advance()
        key, value, past = written.add(0, torch.randn(2, 3, HEADS, 2, HEAD_DIM))
        shapes.add((key.shape, value.shape, past.shape, key.data_ptr()))
        written = written.take(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert len(shapes) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_held_follows_its_hypothesis(kind: str) -> None:
    written = begin(kind, 3, 2, 5)
    written.held.append({"choice": torch.arange(6)})
    written = written.take(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert written.held[0]["choice"].tolist() == [1, 0, 2, 2, 5, 4]
    assert written.select(torch.tensor([2, 0])).held[0]["choice"].tolist() == [5, 4, 1, 0]
