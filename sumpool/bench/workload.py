"""What is measured: random documents, and what a model is asked to do with them.

Weights and documents are random, because what they hold changes no cost: summaries have a fixed number of tokens, and
every document is as long as the batch.
"""

from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from sumpool.core.attention.blockwise import BlockwiseConfig
from sumpool.core.attention.vanilla import VanillaConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.ranking import Lengths, Ranking
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import Memory, Summarizer
from sumpool.pieces import PARAGRAPH

WorkName = Literal["encode", "train", "generate"]
WORKS: tuple[WorkName, ...] = ("encode", "train", "generate")
SENTENCE = 24
"""Tokens of a random sentence."""


@dataclass(frozen=True)
class Conditions:
    """Under what every model is measured.

    Attributes:
        vocabulary: Pieces of the vocabulary.
        device: Where the models run.
        precision: float32, or bfloat16 for matrix products under autocast; weights are float32.
        seed: Seed of weights and documents.
    """

    vocabulary: int
    device: torch.device
    precision: torch.dtype
    seed: int = 1

    def autocast(self) -> torch.autocast:
        """The precision of matrix products, as a context."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision is torch.bfloat16)


@dataclass(frozen=True)
class Documents:
    """A batch of random documents without padding.

    Attributes:
        ids: (batch, length).
        mask: (batch, length), all True.
        sentences: (batch, length), sentence number of each token.
        target: (batch, target), reference summaries.
    """

    ids: Tensor
    mask: Tensor
    sentences: Tensor
    target: Tensor

    @classmethod
    def random(cls, batch: int, length: int, target: int, conditions: Conditions) -> "Documents":
        """Draw documents of `length` tokens with summaries of `target` tokens."""
        generator = torch.Generator().manual_seed(conditions.seed)
        ids, references = (
            torch.randint(PARAGRAPH + 1, conditions.vocabulary, (batch, size), generator=generator).to(
                conditions.device
            )
            for size in (length, target)
        )
        sentences = (torch.arange(length, device=conditions.device) // SENTENCE).expand(batch, -1)
        return cls(ids, torch.ones_like(ids, dtype=torch.bool), sentences, references)


@final
class Subject:
    """A model with random weights, and the works that are measured on it."""

    def __init__(self, config: ModelConfig, conditions: Conditions) -> None:
        torch.manual_seed(conditions.seed)
        self.model = Summarizer(config, conditions.vocabulary).to(conditions.device)
        self.conditions = conditions

    def encode(self, documents: Documents) -> None:
        """Read the documents."""
        self.model.eval()
        with torch.inference_mode(), self.conditions.autocast():
            self._read(documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step; the update, which no variant changes, is left out."""
        self.model.train()
        with self.conditions.autocast():
            scores, losses, _ = self.model(documents.ids, documents.mask, documents.sentences, documents.target)
            loss = sum(losses.values(), start=scores.surprise / scores.log_prob.numel())
        torch.autograd.backward(loss)
        self.model.zero_grad(set_to_none=True)

    def score(self, documents: Documents) -> None:
        """Run forward alone, the reference summaries given."""
        self.model.eval()
        with torch.inference_mode(), self.conditions.autocast():
            self.model(documents.ids, documents.mask, documents.sentences, documents.target)

    def generate_greedily(self, documents: Documents) -> None:
        """Write as many tokens about each document as its reference summary has, by one hypothesis."""
        self.generate(documents, 1, documents.target.size(1))

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Read the documents and write `tokens` tokens about each, no fewer and no more."""
        self.model.eval()
        batch = documents.ids.size(0)
        with torch.inference_mode(), self.conditions.autocast():
            state = self.model.start(self._read(documents), beams)
            lengths = [Lengths(tokens, tokens)] * batch
            search(self.model.step, state, lengths, Ranking(beams), device=documents.ids.device)

    def _read(self, documents: Documents) -> Memory:
        return self.model.encode(documents.ids, documents.mask, documents.sentences)


def twins(config: ModelConfig, longest: int) -> dict[str, ModelConfig]:
    """Set beside a model the same one without pooling, with blockwise and with vanilla attention in every layer.

    Args:
        config: The model; blocks are those of its first blockwise layer.
        longest: Source tokens that all of them must be able to read.

    Returns:
        Configs by name, "model" first; a twin that equals the model is left out.
    """
    blocks = (layer.attention for layer in config.encoder if isinstance(layer.attention, BlockwiseConfig))
    attentions = {"blockwise": next(blocks, BlockwiseConfig()), "vanilla": VanillaConfig()}
    long = config.model_copy(update={"source_length": max(longest, config.source_length)})
    found = {"model": long}
    for name, attention in attentions.items():
        encoder = (EncoderLayerConfig(attention=attention),) * len(config.encoder)
        if encoder != config.encoder:
            found[name] = long.model_copy(update={"encoder": encoder})
    return found
