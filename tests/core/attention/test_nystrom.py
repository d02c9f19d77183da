import torch

from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens


def test_padding_gaps_do_not_move_segments() -> None:
    attention, tokens = NystromAttentionConfig(landmarks=4, kernel=0).build(16, 4).double(), make_tokens(12)
    expected = attention(tokens)
    index = torch.arange(0, 24, 2)
    states = torch.full((1, 24, 16), 1e3, dtype=torch.float64).index_copy(1, index, tokens.states)
    mask = torch.arange(24)[None] % 2 == 0
    mixed = attention(Tokens.of_states(states, mask, torch.arange(24)[None]))[:, index]
    torch.testing.assert_close(mixed, expected, atol=1e-12, rtol=0)
