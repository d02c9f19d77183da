"""Selections as a cross-attention calls them."""

from torch import Tensor, nn

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.sentences import Sentences
from sumpool.core.selection import Selection, SelectionConfig
from sumpool.core.sentence_encoding import SentenceEncoder
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class

DIM, HEADS = 16, 4


class SelectionWithEncoder(nn.Module):
    """A selection with its sentence encoder and the projections of the word attention."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        config = config_class("sumpool.core.selection", kind)()
        assert isinstance(config, SelectionConfig)
        self.selection: Selection = config.build(DIM, HEADS)
        self.encoder: SentenceEncoder | None = config.build_encoder(DIM)
        self.query, self.key = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, states: Tensor, memory: Tokens) -> Tensor:
        """Compute log-weights: (batch, target, dim) -> (batch, heads, target, sentences)."""
        sentences = Sentences.find(memory)
        vectors = self.encoder(memory, sentences) if self.encoder else None
        key = split_heads(self.key(zero_padding(memory.states, memory.mask)), HEADS)
        precomputed = self.selection.precompute(key, memory.mask, sentences, vectors)
        log_weights: Tensor = self.selection(states, split_heads(self.query(states), HEADS), precomputed)
        return log_weights
