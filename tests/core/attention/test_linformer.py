import pytest

from sumpool.core.attention.linformer import LinformerAttentionConfig, LinformerSharing
from sumpool.core.attention.vanilla import VanillaAttention
from tests.core.batches import make_tokens


@pytest.mark.parametrize(
    ("sharing", "unreduced", "projections"),
    [
        ("none", False, 8),
        ("heads", False, 2),
        ("keys_values", False, 1),
        ("keys_values_per_head", False, 4),
        ("none", True, 4),
        ("heads", True, 1),
    ],
)
def test_shared_projections(sharing: LinformerSharing, unreduced: bool, projections: int) -> None:
    attention = LinformerAttentionConfig(rank=7, length=40, sharing=sharing, unreduced=unreduced).build(16, 4)
    sizes = sum(parameter.numel() for name, parameter in attention.named_parameters() if name.startswith("project_"))
    assert sizes == projections * 7 * 40


def test_a_higher_rank_approximates_full_attention_if_unreduced() -> None:
    tokens, full = make_tokens(50), VanillaAttention(16, 2).double()
    expected = full(tokens)

    def error(rank: int) -> float:
        attention = LinformerAttentionConfig(rank=rank, length=50, unreduced=True).build(16, 2).double()
        attention.load_state_dict(full.state_dict(), strict=False)
        difference = attention(tokens) - expected
        return float(difference.square().mean().sqrt().detach())

    errors = [error(rank) for rank in (64, 1024, 16384)]
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
