"""Random documents, and the workloads that are measured on a model.

Weights and documents are random, because their values change no cost: summaries have a fixed number of tokens, and
every document is as long as the batch.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from sumpool.bench.config import Workload
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.cuda_graph import GraphedDecoder
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.quantization import Precision, quantize
from sumpool.special_tokens import PARAGRAPH
from sumpool.training.hardware import Work, peak

WORKLOADS: tuple[Workload, ...] = ("encode", "train", "generate")
SENTENCE = 24
"""Tokens of a random sentence."""
NAMES: Mapping[torch.dtype, Precision] = {torch.float32: "fp32", torch.bfloat16: "bf16"}
SIZES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "int8": 1}
"""Bytes of a weight."""


@dataclass(frozen=True)
class Conditions:
    """Conditions of all measurements: size of the vocabulary, device, seed, and precision.

    The precision is float32, or bfloat16 for matrix products under autocast; weights are float32.
    """

    vocabulary: int
    device: torch.device
    precision: torch.dtype
    seed: int = 1

    def autocast(self) -> torch.autocast:
        """Context with the precision of matrix products."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision is torch.bfloat16)


@dataclass(frozen=True)
class Documents:
    """A batch of random documents without padding.

    Attributes:
        ids: (batch, length).
        mask: (batch, length), all True.
        sentences: (batch, length), sentence number of each token.
        target: (batch, target), reference summaries.
        lengths: Tokens of each document, on the host; None where it does not know them.
    """

    ids: Tensor
    mask: Tensor
    sentences: Tensor
    target: Tensor
    lengths: Sequence[int] | None = None

    @classmethod
    def random(cls, batch: int, length: int, target: int, conditions: Conditions) -> "Documents":
        """Draw documents of `length` tokens with summaries of `target` tokens."""
        generator, device = torch.Generator().manual_seed(conditions.seed), conditions.device
        sizes, first, last = ((batch, length), (batch, target)), PARAGRAPH + 1, conditions.vocabulary
        ids, references = (torch.randint(first, last, size, generator=generator).to(device) for size in sizes)
        sentences = (torch.arange(length, device=device) // SENTENCE).expand(batch, -1)
        return cls(ids, torch.ones_like(ids, dtype=torch.bool), sentences, references, [length] * batch)


class Contender:
    """A system with random weights; `Subject` is ours.

    A system has a method for each of its workloads, `encode(documents)`, `train(documents)` for forward and backward of
    one step, or `generate(documents, beams, tokens)` for exactly so many tokens.

    Attributes:
        name: Name of the system.
        precision: Precision of all workloads; None where it is not known.
    """

    name: str = ""
    precision: str | None = None

    def precision_of(self, workload: Workload) -> str | None:
        """Return the precision of a workload; None where it is not known, or not yet."""
        del workload
        return self.precision

    def run(self, workload: Workload, documents: Documents, *sizes: int) -> object:
        """Run a workload with its arguments.

        Raises:
            NotImplementedError: If the system does not have it.
        """
        if not hasattr(self, workload):
            raise NotImplementedError(f"{self.name} offers no method to {workload}")
        return getattr(self, workload)(documents, *sizes)

    def peak(self, work: Work, device: torch.device) -> int | None:
        """Run `work`, which runs one of the workloads once, and return its peak memory, as `training.memory.peak`."""
        return peak(work, device)


@final
class Subject(Contender):
    """A model with random weights, and the workloads that are measured on it."""

    def __init__(self, config: ModelConfig, conditions: Conditions, precision: Precision | None = None) -> None:
        """Build the model; `precision` is that of encoding and generation, by quantized weights, None that of all."""
        torch.manual_seed(conditions.seed)
        self.model = SummarizationModel(config, conditions.vocabulary).to(conditions.device)
        self.generator = self.model
        self.conditions = self.generating = conditions
        self.precision: Precision = precision or NAMES[conditions.precision]
        if precision:
            self.generator = deepcopy(self.model).eval().requires_grad_(False)
            quantize(self.generator, precision)
            self.generating = replace(conditions, precision=torch.float32)  # packed weights need no autocast
        self.decoder = GraphedDecoder(self.generator)  # as `summarize` does

    def precision_of(self, workload: Workload) -> Precision:
        """Precision of a workload."""
        return NAMES[self.conditions.precision] if workload == "train" else self.precision

    def weights(self, workload: Workload) -> int:
        """Bytes of the weights in a workload; training keeps them in single precision."""
        numbers = sum(weights.numel() for weights in self.model.parameters())
        return numbers * (4 if workload == "train" else SIZES[self.precision])

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step; the update, the same in every variant, is left out."""
        self.model.train()
        with self.conditions.autocast():
            parts = (documents.ids, documents.mask, documents.sentences, documents.target)
            scores, losses, _ = self.model(*parts, lengths=documents.lengths)
            loss = sum(losses.values(), start=scores.nll / scores.log_prob.numel())
        del scores  # as in training: its distribution holds the decoder's states, which the backward pass frees
        torch.autograd.backward(loss)
        self.model.zero_grad(set_to_none=True)

    def score(self, documents: Documents) -> None:
        """Run the forward pass alone, given the reference summaries."""
        self.model.eval()
        with torch.inference_mode(), self.conditions.autocast():
            self.model(documents.ids, documents.mask, documents.sentences, documents.target)

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Encode the documents and generate exactly `tokens` tokens for each."""
        self.write(self.encode(documents), beams, tokens)

    def encode(self, documents: Documents) -> Memory:
        """Encode the documents."""
        self.generator.eval()
        with torch.inference_mode(), self.generating.autocast():
            parts = (documents.ids, documents.mask, documents.sentences)
            return self.generator.encode(*parts, lengths=documents.lengths)

    def write(self, memory: Memory, beams: int, tokens: int) -> None:
        """Generate exactly `tokens` tokens for each document."""
        self.generator.eval()
        with torch.inference_mode(), self.generating.autocast():
            state = self.decoder.start(memory, beams, tokens)
            lengths = [Lengths(tokens, tokens)] * len(memory.source.ids)
            search(self.decoder.step, state, lengths, Ranking(beams), device=memory.source.ids.device)


def baselines(config: ModelConfig, longest: int) -> dict[str, ModelConfig]:
    """The model, and the same model without pooling, with blockwise and with vanilla attention in every layer.

    Returns:
        Configs by name, "model" first; a baseline that equals the model is left out.
    """
    blocks = (layer.attention for layer in config.encoder if isinstance(layer.attention, BlockwiseAttentionConfig))
    attentions = {"blockwise": next(blocks, BlockwiseAttentionConfig()), "vanilla": VanillaAttentionConfig()}
    long = config.model_copy(update={"source_length": max(longest, config.source_length)})
    models = {"model": long}
    for name, attention in attentions.items():
        encoder = (EncoderLayerConfig(attention=attention),) * len(config.encoder)
        if encoder != config.encoder:
            models[name] = long.model_copy(update={"encoder": encoder})
    return models
