"""Blocks of documents, packed without padding."""

from collections.abc import Callable
from dataclasses import replace

import torch

from sumpool.core.model.chunked_encoding import Blocks
from sumpool.core.tokens import Tokens


def test_blocks_keep_the_origin_of_their_tokens(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(20, 9, 1)
    tokens = replace(tokens, states=torch.stack([tokens.origin, tokens.words], dim=-1).double())
    blocks = Blocks(tokens.mask, 8, 16, [20, 9, 1])
    chunks = [chunk.gather(tokens) for chunk in blocks.chunks]
    assert [chunk.mask.sum(1).tolist() for chunk in chunks] == [[8, 8], [8], [4, 1, 1]]
    assert [chunk.full for chunk in chunks] == [True, True, False]
    for chunk in chunks:
        assert torch.equal(chunk.indices[chunk.mask], chunk.origin[chunk.mask])
    assert torch.equal(tokens.indices, tokens.origin)
    joined = blocks.join(chunk.states for chunk in chunks)
    assert torch.equal(joined, tokens.states.masked_fill(~tokens.mask[..., None], 0.0))
    words = blocks.join(chunk.words for chunk in chunks)
    assert torch.equal(words, tokens.words.masked_fill(~tokens.mask, 0))
