"""KV caches shared by beams, against a list of keys per beam."""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.model.kv_cache import BeamCache, CompactingCache, StaticCache, padded_keys
from tests.core.batches import DEVICES

HEADS, HEAD_DIM, LAYERS = 2, 3, 2
KINDS = ["compacting", "static"]


def to_rows(beam_indices: Tensor, beams: int) -> Tensor:
    """Rows of the given beams (documents, some) of each document."""
    return (torch.arange(len(beam_indices))[:, None] * beams + beam_indices).flatten()


def run_both(
    documents: int, beams: int, steps: int, kind: str = "compacting", device: str = "cpu", fewer: bool = False
) -> Iterator[tuple[BeamCache, list[tuple[Tensor, Tensor]], list[list[Tensor]]]]:
    """Take random steps with a cache and a list of keys per beam; values are the negative keys.

    Yields:
        After each step the cache, keys and ancestry bias of each layer, and the keys of each beam, (layers, heads,
        head_dim) per token.
    """
    torch.manual_seed(beams)
    cache: BeamCache = CompactingCache.empty(documents, beams, torch.device(device))
    if kind == "static":
        cache = StaticCache.empty(documents, beams, torch.device(device), steps)
    plain: list[list[Tensor]] = [[] for _ in range(documents * beams)]
    for step in range(steps):
        newest = torch.randn(LAYERS, len(cache.ancestry_bias), HEADS, beams, HEAD_DIM, device=device)
        cache = cache.advance()
        updates = [cache.update(layer, torch.stack([key, -key])) for layer, key in enumerate(newest)]
        assert all(torch.equal(key, -value) for key, value, _ in updates)
        by_beam = newest.permute(1, 3, 0, 2, 4).flatten(0, 1)
        plain = [[*keys, key] for keys, key in zip(plain, by_beam, strict=True)]
        yield cache, [(key, bias) for key, _, bias in updates], plain
        if step % 3:
            rows = to_rows(torch.randint(beams, (len(cache.ancestry_bias), beams)), beams)
            cache, plain = cache.reorder(rows.to(device)), [plain[row] for row in rows.tolist()]
        if step % 17 == 16 and len(cache.ancestry_bias) > 1:
            remaining = torch.randperm(len(cache.ancestry_bias))[1:]
            rows = (remaining[:, None] * beams + torch.arange(beams)).flatten()
            cache, plain = cache.select(remaining.to(device)), [plain[row] for row in rows.tolist()]
        if step % 23 == 22 and fewer and beams > 1:
            rows = to_rows(torch.stack([torch.randperm(beams)[1:] for _ in cache.ancestry_bias]), beams)
            cache, plain = cache.reorder(rows.to(device)), [plain[row] for row in rows.tolist()]
            beams -= 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 5])
def test_a_beam_attends_to_its_ancestors_only(beams: int, kind: str, device: str) -> None:
    fewer = kind == "compacting"  # shapes that are fixed keep all rows
    for step, (cache, layers, plain) in enumerate(run_both(7, beams, 100, kind, device, fewer)):
        assert int(cache.position) == step
        for row, beam_keys in enumerate(plain):
            document, beam = divmod(row, cache.ancestry_bias.size(1))
            for layer, (keys, bias) in enumerate(layers):
                visible = keys[document].transpose(0, 1)[bias[document, beam] == 0]  # (tokens, heads, head_dim)
                expected = torch.stack([key[layer] for key in beam_keys])
                order, expected_order = (part[:, 0, 0].argsort() for part in (visible, expected))
                assert torch.equal(visible[order], expected[expected_order])


def test_slots_without_descendants_are_dropped() -> None:
    sizes = [layers[0][0].size(2) for _, layers, _ in run_both(1, 4, 300)]
    assert max(sizes) < 600, "of 1,200 tokens, beams of a document share nearly all ancestors"


@pytest.mark.parametrize(("beams", "sizes"), [(1, set(range(1, 161))), (3, {64, 128, 192, 512})])
def test_unused_slots_are_read_up_to_a_multiple_only(beams: int, sizes: set[int]) -> None:
    read = set()
    for cache, layers, _ in run_both(3, beams, 160):
        assert isinstance(cache, CompactingCache)
        read |= {size for key, bias in layers for size in (key.size(2), bias.size(2))}
        assert all(key.size(2) >= cache.used for key, _ in layers)
    assert read == sizes


@pytest.mark.parametrize("beams", [2, 3, 4])
def test_padding_of_keys_changes_no_bit_of_attention(beams: int) -> None:
    query, key, value = (torch.randn(1, 2, size, 96) for size in (beams, 1024, 1024))
    for used in (20, 100, 190, 300):
        bias = torch.zeros(1, 1, beams, 1024).index_fill_(3, torch.arange(used, 1024), -math.inf)
        alone, together = (
            F.scaled_dot_product_attention(query, key[:, :, :read], value[:, :, :read], attn_mask=bias[..., :read])
            for read in (padded_keys(used), 1024)
        )
        assert torch.equal(alone, together)


def test_batch_mates_do_not_move_the_slots_of_a_document() -> None:
    alone, together = (CompactingCache.empty(documents, 2, torch.device("cpu")) for documents in (1, 2))
    for step in range(90):
        newest = torch.randn(2, 2, HEADS, 2, HEAD_DIM)
        alone, together = alone.advance(), together.advance()
        key, _, bias = alone.update(0, newest[:, :1])
        mate_key, _, mate_bias = together.update(0, newest)
        assert torch.equal(mate_key[:1, :, : key.size(2)], key)
        assert torch.equal(mate_bias[:1, :, : bias.size(2)], bias)
        assert (mate_bias[:1, :, bias.size(2) :] == -math.inf).all()
        if step % 2:  # the beams of the first document descend from one, those of the second from one each
            alone, together = alone.reorder(torch.tensor([0, 0])), together.reorder(torch.tensor([0, 0, 2, 3]))
    assert len(set(together.slots[:, 0].tolist())) == 2, "the mate keeps more slots"
