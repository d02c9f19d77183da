import torch

from sumpool.core.attention.v_mean import VMeanAttentionConfig
from tests.core.batches import make_tokens


def test_every_token_receives_the_mean_of_the_values() -> None:
    attention, tokens = VMeanAttentionConfig().build(16, 4).double(), make_tokens(30, 11, 0, pad=1e3)
    mixed = attention(tokens)
    for number, real in enumerate((30, 11)):
        expected = attention.out(attention.project(tokens.states[number, :real]).mean(0))
        torch.testing.assert_close(mixed[number, :real], expected.expand(real, 16))
    assert mixed.isfinite().all()
