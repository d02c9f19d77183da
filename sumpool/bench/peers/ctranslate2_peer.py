"""BART of CTranslate2 as a contender: a C++ engine that only generates.

It is converted from a random BART of transformers. Its tokens are texts; their names here are their numbers.
"""

from functools import cached_property
from tempfile import TemporaryDirectory
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import Workload
from sumpool.bench.peers.transformers_peer import bart
from sumpool.bench.systems.workload import Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import BOS, EOS, UNK

_COMPUTE_TYPES = ("float32", "int8", "bfloat16", "int8_bfloat16")
"""Compute types that may be the fastest; int8 are the weights, and the products with them, alone."""


def compute_types(device: torch.device) -> tuple[str, ...]:
    """Compute types that a device supports."""
    from ctranslate2 import get_supported_compute_types

    supported = get_supported_compute_types(device.type)
    return tuple(kind for kind in _COMPUTE_TYPES if kind in supported)


@final
class CTranslate2Peer(Contender):
    """BART of CTranslate2 with random weights, which are created when they are first needed, and freed with it."""

    def __init__(self, config: ModelConfig, conditions: Conditions, compute_type: str, threads: int) -> None:
        self.config, self.conditions, self.compute_type, self.threads = config, conditions, compute_type, threads

    @cached_property
    def translator(self) -> Any:  # noqa: ANN401 - a type of ctranslate2
        """The engine with the weights, on the device."""
        from ctranslate2 import Translator

        with TemporaryDirectory() as folder:
            self.specification().save(folder)
            return Translator(
                folder,
                device=self.conditions.device.type,
                device_index=self.conditions.device.index or 0,
                compute_type=self.compute_type,
                inter_threads=1,
                intra_threads=self.threads,
            )

    def precision_of(self, workload: Workload) -> str:
        """Compute type."""
        del workload
        return self.compute_type

    def encode(self, documents: Documents) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("CTranslate2 reads only where it writes")

    def train(self, documents: Documents) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("CTranslate2 does not train")

    def generate(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Encode the documents and generate exactly `tokens` tokens for each: (batch, tokens)."""
        results = self.translator.translate_batch(
            [[str(token) for token in document] for document in documents.ids.tolist()],
            beam_size=beams,
            min_decoding_length=tokens,
            max_decoding_length=tokens,
            max_input_length=0,  # all of it
        )
        return torch.tensor([[int(token) for token in summary.hypotheses[0]] for summary in results])

    def specification(self) -> Any:  # noqa: ANN401
        """Convert a random BART, in float32."""
        from ctranslate2.converters.transformers import BartLoader

        torch.manual_seed(self.conditions.seed)
        model = bart(self.config, self.conditions.vocabulary)
        model.config.normalize_before = False  # the converter needs it, and transformers 5 has it no more
        with torch.inference_mode():
            specification = BartLoader().get_model_spec(model)
        names = [str(token) for token in range(self.conditions.vocabulary)]
        specification.register_source_vocabulary(names)
        specification.register_target_vocabulary(names)
        specification.config.unk_token = names[UNK]
        specification.config.bos_token = specification.config.decoder_start_token = names[BOS]
        specification.config.eos_token = names[EOS]
        specification.validate()
        specification.optimize()
        return specification
