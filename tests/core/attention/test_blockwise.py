from sumpool.core.attention.blockwise import BlockwiseAttention
from tests.core.batches import make_tokens


def test_blocks_of_padding_are_skipped() -> None:
    attention = BlockwiseAttention(16, 4, 8).double()
    batch_sizes: list[int] = []
    attention.project.register_forward_pre_hook(lambda _, args: batch_sizes.append(args[0].size(0)))
    tokens = make_tokens(80, 3, 17)
    attention(tokens)
    attention.attention_received(tokens, include_self=True)
    assert batch_sizes == [10 + 1 + 3] * 2
