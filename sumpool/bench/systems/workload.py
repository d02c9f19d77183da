"""What is measured: random documents, and what a model is asked to do with them.

Weights and documents are random, because what they hold changes no cost: summaries have a fixed number of tokens, and
every document is as long as the batch.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from sumpool.bench.config import WorkName
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.ranking import Lengths, Ranking
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.nn.quantization import Precision, quantize
from sumpool.special_tokens import PARAGRAPH

WORKS: tuple[WorkName, ...] = ("encode", "train", "generate")
SENTENCE = 24
"""Tokens of a random sentence."""
NAMES: Mapping[torch.dtype, Precision] = {torch.float32: "fp32", torch.bfloat16: "bf16"}
DTYPES: Mapping[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}
"""What everything but the weights of linear maps is kept in."""
SIZES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "int8": 1}
"""Bytes of a weight."""


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

    def __init__(self, config: ModelConfig, conditions: Conditions, precision: Precision | None = None) -> None:
        """Build.

        Args:
            config: The model's settings.
            conditions: Under what it is measured.
            precision: Of encoding and generation, by weights that are packed for it; None leaves the weights as they
                are, and has the products of the conditions.
        """
        torch.manual_seed(conditions.seed)
        self.model = SummarizationModel(config, conditions.vocabulary).to(conditions.device)
        self.writer = self.model
        self.conditions = self.writing = conditions
        self.precision: Precision = precision or NAMES[conditions.precision]
        if precision:
            self.writer = deepcopy(self.model).eval().requires_grad_(False)
            quantize(self.writer, precision)
            self.writing = replace(conditions, precision=torch.float32)  # what is packed needs no autocast

    def precision_of(self, work: WorkName) -> Precision:
        """The precision that a work computes in."""
        return NAMES[self.conditions.precision] if work == "train" else self.precision

    def weights(self, work: WorkName) -> int:
        """Bytes of the weights of a work; training keeps them in single precision."""
        numbers = sum(weights.numel() for weights in self.model.parameters())
        return numbers * (4 if work == "train" else SIZES[self.precision])

    def encode(self, documents: Documents) -> None:
        """Read the documents."""
        self.read(documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step; the update, which no variant changes, is left out."""
        self.model.train()
        with self.conditions.autocast():
            scores, losses, _ = self.model(documents.ids, documents.mask, documents.sentences, documents.target)
            loss = sum(losses.values(), start=scores.nll / scores.log_prob.numel())
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
        self.write(self.read(documents), beams, tokens)

    def read(self, documents: Documents) -> Memory:
        """Give what is written about."""
        self.writer.eval()
        with torch.inference_mode(), self.writing.autocast():
            return self.writer.encode(documents.ids, documents.mask, documents.sentences)

    def write(self, memory: Memory, beams: int, tokens: int) -> None:
        """Write `tokens` tokens about each document, no fewer and no more."""
        self.writer.eval()
        with torch.inference_mode(), self.writing.autocast():
            state = self.writer.start(memory, beams)
            lengths = [Lengths(tokens, tokens)] * memory.ids.size(0)
            search(self.writer.step, state, lengths, Ranking(beams), device=memory.ids.device)


def twins(config: ModelConfig, longest: int) -> dict[str, ModelConfig]:
    """Set beside a model the same one without pooling, with blockwise and with vanilla attention in every layer.

    Args:
        config: The model; blocks are those of its first blockwise layer.
        longest: Source tokens that all of them must be able to read.

    Returns:
        Configs by name, "model" first; a twin that equals the model is left out.
    """
    blocks = (layer.attention for layer in config.encoder if isinstance(layer.attention, BlockwiseAttentionConfig))
    attentions = {"blockwise": next(blocks, BlockwiseAttentionConfig()), "vanilla": VanillaAttentionConfig()}
    long = config.model_copy(update={"source_length": max(longest, config.source_length)})
    found = {"model": long}
    for name, attention in attentions.items():
        encoder = (EncoderLayerConfig(attention=attention),) * len(config.encoder)
        if encoder != config.encoder:
            found[name] = long.model_copy(update={"encoder": encoder})
    return found
