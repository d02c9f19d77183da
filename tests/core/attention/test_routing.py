import pytest
import torch
from torch.nn import functional as F

from sumpool.core.attention import routing
from sumpool.core.attention.routing import RoutingAttention, RoutingAttentionConfig
from sumpool.core.nn.layers import run_layer
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import project
from tests.core.batches import make_tokens


@pytest.fixture(autouse=True)
def fast_centroids_of_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "_DECAY", 0.9)
    monkeypatch.setattr(routing, "MIN_CLUSTER_TOKENS", 3)


def build() -> RoutingAttention:
    return RoutingAttention(RoutingAttentionConfig(clusters=4), 16, 4).double().eval()


def test_tokens_with_the_same_states_are_selected_in_their_order() -> None:
    attention, tokens = build(), make_tokens(40, 30, length=50)
    tokens.states[1, :] = 0.5
    mixed = attention(tokens)[1, :30]
    expected = attention(Tokens.of_states(tokens.states[1:, :30], positions=tokens.positions[1:, :30]))[0]
    torch.testing.assert_close(mixed, expected, atol=1e-10, rtol=0)


def test_centroids_move_towards_the_means_of_the_nearest_real_tokens() -> None:
    attention = build().train()
    before = attention.centroids.clone()
    tokens = make_tokens(30, 11)
    expected = before.clone()
    for head in range(4):
        parts = [project(attention, tokens.states[number, :real])[:2] for number, real in enumerate((30, 11))]
        values = torch.cat([F.layer_norm(part[head], (4,)) for pair in parts for part in pair]).detach()
        nearest = (values @ before[head].T * 2**12).round().argmax(1)
        for cluster in nearest.unique():
            mean = F.normalize(values[nearest == cluster].mean(0), dim=0)
            expected[head, cluster] = 0.9 * before[head, cluster] + 0.1 * mean
    for length in (30, 45):  # more padding changes nothing
        attention.centroids.copy_(before)
        tokens = make_tokens(30, 11, length=length, pad=1e3)
        attention(tokens)[tokens.mask].sum().backward()
        torch.testing.assert_close(attention.centroids, expected, atol=1e-10, rtol=0)
    assert (attention.centroids - before).abs().max() > 1e-3
    assert torch.equal(attention.state_dict()["centroids"], attention.centroids)


def test_centroids_stay_outside_of_training_and_where_states_are_not_finite() -> None:
    attention, tokens = build(), make_tokens(30)
    before = attention.centroids.clone()
    attention(tokens).sum().backward()
    attention.train()
    with torch.no_grad():
        attention(tokens)
    attention(tokens)  # without a backward pass
    tokens.states[0, 3] = torch.nan
    attention(tokens).sum().backward()
    assert torch.equal(attention.centroids, before)


def test_activation_checkpointing_changes_nothing() -> None:
    results = []
    for checkpointed in (False, True):
        torch.manual_seed(0)
        attention, tokens = build().train(), make_tokens(62, 30)
        for _ in range(3):
            mixed = run_layer(attention, tokens, checkpointed=checkpointed)
            mixed[tokens.mask].square().sum().backward()
        results.append((attention.centroids, attention.project.weight.grad))
    torch.testing.assert_close(*results, atol=0, rtol=0)
