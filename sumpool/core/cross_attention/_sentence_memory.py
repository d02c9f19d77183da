"""The sentences of the memory, found and encoded once for all layers of sentence-selective cross-attention."""

from typing import final

import torch
from torch import Tensor

from sumpool.core.cross_attention._base import MemoryEncoder
from sumpool.core.nn.numerics import round_up
from sumpool.core.nn.sentences import Sentences
from sumpool.core.sentence_encoding._base import SentenceEncoder
from sumpool.core.tokens import Tokens

ROOM_MULTIPLE = 64
"""The most words that a query selects are rounded up to a multiple of this on a GPU, so that batches share graphs."""


@final
class SentenceMemoryEncoder(MemoryEncoder):
    """Finds the sentences of the memory and encodes them once for all layers."""

    batches: Tensor

    def __init__(self, encoder: SentenceEncoder | None, mix_steps: int | None, selected: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.selected = selected
        self.mix_steps = mix_steps
        if mix_steps:
            self.register_buffer("batches", torch.zeros((), dtype=torch.long))  # saved with checkpoints

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Find and encode sentences.

        Returns:
            index, first and count of `Sentences`; vectors (batch, sentences, dim) where the selection needs them; in
            training with `mix`, ideal (batch,), True at documents whose ideal sentences are attended to in all layers;
            on a GPU room (batch, words), whose size is that of the most words that a query selects.
        """
        sentences = Sentences.find(memory)
        shared = {"index": sentences.index, "first": sentences.first, "count": sentences.count}
        if self.encoder is not None:
            shared["vectors"] = self.encoder(memory, sentences)
        if sentences.sizes is not None and memory.mask.is_cuda:
            longest = sentences.sizes.sort(dim=1, descending=True).values[:, : self.selected].sum(1)
            words = round_up(int(longest.max()), ROOM_MULTIPLE)
            shared["room"] = memory.mask.new_ones(len(memory.mask), words)
        if self.training and self.mix_steps:
            shared["ideal"] = torch.rand(len(memory.mask), device=memory.mask.device) >= self.batches / self.mix_steps
            self.batches += 1
        return shared
