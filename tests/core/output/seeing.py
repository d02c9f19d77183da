"""What a head takes of the source's vectors, as the encoder gives it."""

from sumpool.core.nn.masking import zero_padding
from sumpool.core.output._base import Output
from sumpool.core.tokens import Tokens


def seen(head: Output, tokens: Tokens) -> Tokens:
    """Let the head see the vectors of documents."""
    return tokens.with_states(head.see(zero_padding(tokens.states, tokens.mask)))
