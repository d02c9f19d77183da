"""What the encoder does around its layers and poolings."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Encoder
from sumpool.core.model.summarizer import Summarizer
from sumpool.core.nn.mixture import Mixture

VOCAB = 60
TWO_POOLINGS = [
    {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}},
    {"attention": {"kind": "vanilla"}, "pool": {"kind": "halving", "keep": 6}},
    {"attention": {"kind": "vanilla"}},
]


def make_encoder(encoder: Sequence[object] = TWO_POOLINGS, **settings: object) -> Encoder:
    torch.manual_seed(1)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "dropout": 0.0}
    config = ModelConfig.model_validate({**sizes, "encoder": encoder, **settings})
    return Summarizer(config, VOCAB).double().encoder


def make_documents(*lengths: int) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    return ids, mask, torch.arange(max(lengths)).expand(mask.shape) // 7


def owner(mixture: Mixture, number: int, vector: int) -> int:
    """The one survivor that a vector stands behind."""
    behind = (mixture.members[number] == vector) & (mixture.weights[number] > 0)
    return int(behind.any(-1).nonzero().item())


def test_restoring_adds_to_every_token_what_it_was_pooled_into() -> None:
    documents = make_documents(64, 9, 33)
    encoded = make_encoder(norm="post")(*documents)
    restored = make_encoder(norm="post", restore=True)(*documents).memory
    first, second = (mixture() for mixture in encoded.mixtures)
    for number, length in enumerate([64, 9, 33]):
        for token in range(length):
            last = owner(second, number, owner(first, number, token))
            expected = encoded.source.states[number, token] + encoded.memory.states[number, last]
            torch.testing.assert_close(restored.states[number, token], expected)
    assert torch.equal(restored.mask, documents[1])
    assert torch.equal(restored.origin, torch.arange(64).expand(3, -1))


def test_what_stands_behind_nothing_gets_nothing_back() -> None:
    members, weights = torch.tensor([[[0, 2], [3, 0]]]), torch.tensor([[[0.25, 0.75], [1.0, 0.0]]])
    mixture = Mixture(members, weights, torch.ones(1, 2, dtype=torch.bool))
    spread = mixture.spread(torch.tensor([[[1.0], [5.0]]]), 5)
    assert spread.flatten().tolist() == [1, 0, 1, 5, 0]


def test_the_figures_of_a_pooling_are_named_after_its_layer() -> None:
    metrics = make_encoder()(*make_documents(64, 9)).memory.metrics
    assert set(metrics) == {"layer_1.winner_share", "layer_2.winner_share"}
    assert all(0.5 <= float(figure) <= 1 for figure in metrics.values())


def test_without_positions_the_order_within_a_block_does_not_matter() -> None:
    encoder = make_encoder([{"attention": {"kind": "vanilla"}}], positions="none").eval()
    ids, mask, sentences = make_documents(30)
    order = torch.randperm(30)
    states = encoder(ids, mask, sentences).memory.states
    shuffled = encoder(ids[:, order], mask, sentences).memory.states
    torch.testing.assert_close(shuffled, states[:, order])


@pytest.mark.parametrize("starts", [[5], [5, 6, 7]])
def test_words_are_counted_by_the_pieces_that_begin_them(starts: list[int]) -> None:
    word_starts = torch.zeros(VOCAB, dtype=torch.bool)
    word_starts[starts] = True
    config = ModelConfig.model_validate(
        {"dim": 16, "heads": 2, "feed_forward": 32, "encoder": [{"attention": {"kind": "vanilla"}}]}
    )
    ids = torch.tensor([[5, 6, 7, 5, 9]])
    mask = torch.ones_like(ids, dtype=torch.bool)
    words = Summarizer(config, VOCAB, word_starts).encoder(ids, mask, torch.zeros_like(ids)).memory.words
    expected = [1, 1, 1, 2, 2] if starts == [5] else [1, 2, 3, 4, 4]
    assert words.tolist() == [expected]
