"""A model of transformers as a contender."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.systems.workload import Conditions, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import BOS, EOS, PAD

Build = Callable[[ModelConfig, int], Any]
"""Makes a model of transformers, with random weights, of our configuration and the pieces of the vocabulary."""


@final
class TransformersPeer:
    """A model of transformers with random weights.

    Its weights are made when they are first needed, and go with it. They have the precision of the conditions, in
    training too: nothing is faster for it.
    """

    def __init__(self, build: Build, config: ModelConfig, conditions: Conditions) -> None:
        self.build = build
        self.config = config
        self.conditions = conditions

    @cached_property
    def model(self) -> Any:  # noqa: ANN401 - a type of transformers
        """The model, on the device."""
        torch.manual_seed(self.conditions.seed)
        model = self.build(self.config, self.conditions.vocabulary)
        return model.to(self.conditions.device, self.conditions.precision)

    def encode(self, documents: Documents) -> None:
        """Read the documents."""
        self.read(documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self.model.train()
        found = self.model(input_ids=documents.ids, labels=documents.target, use_cache=False)
        found.loss.backward()
        self.model.zero_grad(set_to_none=True)

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Read the documents and write `tokens` tokens about each, no fewer and no more."""
        self.write(documents, beams, tokens)

    def read(self, documents: Documents) -> Tensor:
        """Give the vectors of the documents, (batch, length, dim)."""
        self.model.eval()
        with torch.inference_mode():
            found: Tensor = self.model.get_encoder()(documents.ids).last_hidden_state
        return found

    def write(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Give the best summaries, (batch, tokens)."""
        from transformers import GenerationConfig

        self.model.eval()
        settings = GenerationConfig(
            num_beams=beams,
            do_sample=False,
            use_cache=True,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
        with torch.inference_mode():
            found: Tensor = self.model.generate(documents.ids, generation_config=settings)
        return found[:, 1:]  # the first one is the beginning
