import pytest
import torch
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from sumpool.bench.workload import Conditions
from sumpool.core.attention.sliding_window import SlidingWindowAttention
from sumpool.core.tokens import Tokens
from sumpool.errors import RecipeError
from sumpool.studies import attention_peers
from sumpool.studies.attention_peers import Peer
from sumpool.studies.attentions import measure_attention_costs
from sumpool.studies.config import AttentionsConfig

CONDITIONS = Conditions(100, torch.device("cpu"), torch.float32)


def test_layers_take_turns() -> None:
    settings = AttentionsConfig(lengths=(1024,), dim=16, heads=2, repeats=1, peers=True)
    result = measure_attention_costs(settings, CONDITIONS)
    rows = result.rows["attention_peers"]
    assert [row["name"] for row in rows] == ["nystrom", "bigbird", "sliding_window", "longformer", "lsh", "lsh"]
    for row in rows:
        for work in ("forward", "both"):
            assert row[f"{work}_ratio"] == row[f"{work}_ours"] / row[f"{work}_theirs"] > 0
    assert result.tables[0].cells()[0][:3] == ("nystrom", "Nystromformer", "1,024")


def test_the_longformer_has_the_output_of_ours() -> None:
    peer: Peer = attention_peers._longformer({"hidden_size": 16, "num_attention_heads": 2}, 1024, first=False)
    ours = peer.ours.build(16, 2)
    assert isinstance(ours, SlidingWindowAttention)
    assert isinstance(peer.theirs, LongformerSelfAttention)
    with torch.no_grad():
        for part, weight, bias in zip(
            (peer.theirs.query, peer.theirs.key, peer.theirs.value),
            ours.project.weight.chunk(3),
            ours.project.bias.chunk(3),
            strict=True,
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
    states = torch.randn(1, 1024, 16)
    expected = ours.out(peer.mix(states))
    torch.testing.assert_close(ours(Tokens.of_states(states)), expected, atol=1e-5, rtol=0)


def test_lengths_suit_the_layers_of_transformers() -> None:
    for length in (960, 1025):
        settings = AttentionsConfig(lengths=(length,), dim=16, heads=2, repeats=1, peers=True)
        with pytest.raises(RecipeError, match=f"lengths must be multiples of 64 from 1024 with peers, got {length}"):
            measure_attention_costs(settings, CONDITIONS)


def test_transformers_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_peers, "find_spec", lambda _: None)
    settings = AttentionsConfig(lengths=(1024,), dim=16, heads=2, repeats=1, peers=True)
    with pytest.raises(RecipeError, match="peers must have transformers, which is not installed: pip install"):
        measure_attention_costs(settings, CONDITIONS)
