"""Source states as the encoder projects them for an output head."""

from sumpool.core.nn.masking import zero_padding
from sumpool.core.output import Output
from sumpool.core.tokens import Tokens


def project(head: Output, tokens: Tokens) -> Tokens:
    """Apply the head's projection to the states of documents."""
    return tokens.with_states(head.project_source(zero_padding(tokens.states, tokens.mask)))
