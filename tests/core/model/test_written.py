"""What hypotheses have written, and what they see of it, beside a plain list for each of them."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from sumpool.core.model.apart import ApartWritten
from sumpool.core.model.written import FixedWritten, MovingWritten, Written

CUDA = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
)
HEADS, HEAD_DIM, LAYERS = 2, 3, 2
KINDS = ["moving", "fixed", "apart"]


Parts = list[Tensor]


class Plain:
    """Every hypothesis has its own keys and values, (2, heads, head_dim) a token, layer by layer."""

    def __init__(self, documents: int, beams: int) -> None:
        self.past: list[Parts] = [[] for _ in range(documents * beams)]

    def mix(self, newest: Tensor) -> Tensor:
        """Add tokens (layers, 3, documents, heads, beams, head_dim); give what each attends to, without its 3."""
        layers, _, documents, heads, beams, head_dim = newest.shape
        rows = newest.permute(2, 4, 0, 1, 3, 5).flatten(0, 1)  # (documents * beams, layers, 3, heads, head_dim)
        self.past = [[*past, row[:, 1:]] for past, row in zip(self.past, rows, strict=True)]
        mixed = []
        for (query, _, _), past in zip(rows.transpose(1, 2), self.past, strict=True):
            keys, values = torch.stack(past, -2).unbind(1)  # (layers, heads, tokens, head_dim)
            weights = (torch.einsum("lhd,lhtd->lht", query, keys) / head_dim**0.5).softmax(-1)
            mixed.append(torch.einsum("lht,lhtd->lhd", weights, values))
        return torch.stack(mixed).view(documents, beams, layers, heads, head_dim).permute(2, 0, 3, 1, 4)

    def take(self, rows: Tensor) -> None:
        self.past = [self.past[row] for row in rows.tolist()]


def begin(kind: str, documents: int, beams: int, steps: int, device: str = "cpu") -> Written:
    if kind == "moving":
        return MovingWritten.nothing(documents, beams, torch.device(device))
    if kind == "apart":
        return ApartWritten(documents, beams, torch.device(device))
    return FixedWritten.nothing(documents, beams, steps, torch.device(device))


def both(
    documents: int, beams: int, steps: int, kind: str = "moving", device: str = "cpu", fewer: bool = False
) -> Iterator[tuple[Written, Tensor, Tensor]]:
    """Write at random; after every step give what is written, what it mixes, and what a plain list does."""
    torch.manual_seed(beams)
    written = begin(kind, documents, beams, steps, device)
    plain = Plain(documents, beams)
    for step in range(steps):
        newest = torch.randn(LAYERS, 3, documents, HEADS, beams, HEAD_DIM, dtype=torch.float64)
        written = written.advance()
        mixed = torch.stack([written.mix(layer, each.to(device)) for layer, each in enumerate(newest)])
        yield written, mixed.cpu(), plain.mix(newest)
        if step % 3:
            rows = _rows(documents, torch.randint(beams, (documents, beams)), beams)
            written = written.take(rows.to(device))
            plain.take(rows)
        if step % 17 == 16 and documents > 1:
            kept = torch.randperm(documents)[1:]
            written = written.select(kept.to(device))
            plain.take((kept[:, None] * beams + torch.arange(beams)).flatten())
            documents -= 1
        if step % 23 == 22 and fewer and beams > 1:
            rows = _rows(documents, torch.stack([torch.randperm(beams)[1:] for _ in range(documents)]), beams)
            written = written.take(rows.to(device))
            plain.take(rows)
            beams -= 1


def _rows(documents: int, chosen: Tensor, beams: int) -> Tensor:
    return (torch.arange(documents)[:, None] * beams + chosen).flatten()


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 2, 5])
def test_a_hypothesis_sees_exactly_what_it_descends_from(beams: int, kind: str, device: str) -> None:
    for step, (written, mixed, expected) in enumerate(both(7, beams, 100, kind, device, kind != "fixed")):
        assert int(written.place) == step
        torch.testing.assert_close(mixed, expected, rtol=1e-12, atol=1e-12)


def test_room_is_made_for_what_somebody_descends_from() -> None:
    sizes = [written.rooms[0].size(3) for written, _, _ in both(1, 4, 300)]
    assert max(sizes) < 600, "of 1,200 tokens, hypotheses of one document share nearly all that they kept"


@pytest.mark.parametrize("kind", ["moving", "apart"])
def test_what_no_step_has_filled_is_not_read(kind: str) -> None:
    for written, mixed, _ in both(3, 3, 100, kind):
        assert mixed.isfinite().all()
        filled = written.filled if isinstance(written, MovingWritten) else int(written.place) + 1
        for room in written.rooms:
            room[:, :, :, filled:] = torch.nan


def test_fixed_shapes_never_change() -> None:
    written = FixedWritten.nothing(3, 2, 20, torch.device("cpu"))
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
