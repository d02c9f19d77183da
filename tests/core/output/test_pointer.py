from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from sumpool.core.output.pointer import PointerConfig, PointerOutput
from sumpool.core.tokens import Tokens
from sumpool.pieces import PAD


def make_head(vocab: int = 40, dim: int = 16) -> PointerOutput:
    embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
    nn.init.normal_(embedding.weight, std=dim**-0.5)
    return PointerOutput(embedding, PointerConfig(key=8, preceding=64)).double()


def naive(head: PointerOutput, tokens: Tokens, ids: Tensor, states: Tensor, history: Tensor) -> Tensor:
    """The mixture for document 0, output by output and position by position, in plain probabilities."""

    def before(number: int, place: int) -> Tensor:
        vector = head.embedding.weight[ids[0, place]] if place >= 0 else torch.zeros(16, dtype=torch.float64)
        projected: Tensor = head.preceding[number](vector)
        return projected

    rows = []
    for place in range(states.size(1)):
        logits = []
        for source in range(ids.size(1)):
            meaning = head.query(states[0, place]) @ head.key(head.norm(tokens.states[0, source])) / 8**0.5
            for number in range(2):
                written = head.preceding[number](head.embedding.weight[history[0, place, number]])
                meaning = meaning + written @ before(number, source - 1 - number)
            logits.append(meaning)
        attention = torch.stack(logits).softmax(0)
        gate = head.gate(states[0, place]).sigmoid()
        row = gate * (states[0, place] @ head.embedding.weight.T).softmax(0)
        for source, weight in enumerate(attention):
            row = row.index_add(0, ids[0, source : source + 1], ((1 - gate) * weight))
        rows.append(row)
    return torch.stack(rows)


def test_equals_the_mixture_by_hand(make_tokens: Callable[..., Tokens]) -> None:
    head, tokens = make_head(), make_tokens(12)
    ids = torch.randint(5, 12, (1, 12))
    states = torch.randn(1, 4, 16, dtype=torch.float64)
    history = torch.randint(5, 12, (1, 4, 2))
    log_probs = head(states, history, head.remember(ids, tokens, tokens))
    torch.testing.assert_close(log_probs[0].exp(), naive(head, tokens, ids, states, history))


def test_before_training_it_points_behind_a_bigram_just_written() -> None:
    head = make_head(vocab=1000, dim=64)
    ids = torch.randperm(900)[None, :800] + 5
    mask = torch.ones_like(ids, dtype=torch.bool)
    tokens = Tokens.from_source(torch.randn(1, 800, 64, dtype=torch.float64), mask, ids, ids, ids)
    places = torch.tensor([10, 300, 799])
    history = torch.stack([ids[:, places - 1], ids[:, places - 2]], dim=-1)
    attention = head._attend(torch.randn(1, 3, 64, dtype=torch.float64), history, head.remember(ids, tokens, tokens))
    assert attention.argmax(-1).tolist() == [places.tolist()]


def test_a_piece_that_is_nowhere_cannot_be_copied(make_tokens: Callable[..., Tokens]) -> None:
    head, tokens = make_head(), make_tokens(6)
    ids = torch.full((1, 6), 7)
    states, history = torch.randn(1, 1, 16, dtype=torch.float64), torch.zeros(1, 1, 2, dtype=torch.long)
    written = torch.nn.functional.logsigmoid(head.gate(states)) + head._vocabulary(states)
    log_probs = head(states, history, head.remember(ids, tokens, tokens))
    elsewhere = torch.arange(40) != 7
    torch.testing.assert_close(log_probs[..., elsewhere], written[..., elsewhere])
    assert log_probs[0, 0, 7] > written[0, 0, 7]


def test_copying_from_the_memory_reads_the_source_at_its_origins(make_tokens: Callable[..., Tokens]) -> None:
    head, tokens = make_head(), make_tokens(12)
    from_memory = PointerOutput(head.embedding, PointerConfig(key=8, preceding=64, copies="memory")).double()
    from_memory.load_state_dict(head.state_dict())
    ids = torch.randint(5, 40, (1, 12))
    everything = head.remember(ids, tokens, tokens)
    origin = torch.tensor([[1, 4, 9]])
    states = tokens.states.gather(1, origin[..., None].expand(-1, -1, 16))
    left = replace(tokens, states=states, mask=tokens.mask[:, :3], origin=origin)
    some = from_memory.remember(ids, tokens, left)
    for name in ("key", "ids"):
        torch.testing.assert_close(some[name], everything[name][:, origin[0]])
