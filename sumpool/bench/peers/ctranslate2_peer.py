"""BART of CTranslate2 as a contender, a C++ engine that only generates, in a process of its own.

CTranslate2 keeps threads of an OpenMP of its own beside those of torch: as long as its engine exists, the small
products of a model in the same process take twice as long. It is converted from a random BART of transformers. Its
tokens are texts; their names here are their numbers.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from tempfile import TemporaryDirectory
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import Workload
from sumpool.bench.peers.transformers_peer import bart
from sumpool.bench.workload import Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.data.processes import WorkerPool
from sumpool.progress import no_op
from sumpool.special_tokens import BOS, EOS, UNK
from sumpool.training.hardware import Work

_COMPUTE_TYPES = ("float32", "int8", "bfloat16", "int8_bfloat16")
"""Compute types that may be the fastest; int8 are the weights, and the products with them, alone."""


@dataclass(frozen=True)
class _Call:
    """A workload and its arguments; its peak memory is measured if there is a `device`."""

    workload: Workload
    arguments: tuple[Any, ...]
    device: torch.device | None


@dataclass(frozen=True)
class _Answer:
    """Precision of the workload, and its peak memory if that was measured."""

    precision: str | None
    peak: int | None


@final
class PeerProcess(Contender):
    """A contender whose process starts with its first workload, and ends with it."""

    def __init__(self, build: Callable[[], Contender]) -> None:
        """Prepare; `build` is called in the process, and must be importable."""
        self._pool: WorkerPool[_Call, _Answer] = WorkerPool(partial(_runner, build), 1)
        weakref.finalize(self, self._pool.close)
        self._precisions: dict[Workload, str | None] = {}
        self._device: torch.device | None = None
        self._peak: int | None = None

    def precision_of(self, workload: Workload) -> str | None:
        """Precision of a workload; None before it has run."""
        return self._precisions.get(workload)

    def peak(self, work: Work, device: torch.device) -> int | None:
        """Run `work` and return the peak memory of its workload in the process."""
        self._device = device
        try:
            work()
        finally:
            self._device = None
        return self._peak

    def encode(self, documents: Documents) -> None:
        """Encode the documents."""
        self._run("encode", documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self._run("train", documents)

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Encode the documents and generate exactly `tokens` tokens for each."""
        self._run("generate", documents, beams, tokens)

    def _run(self, workload: Workload, *arguments: object) -> None:
        answer = self._pool.result(self._pool.submit(_Call(workload, arguments, self._device)), no_op)
        self._precisions[workload], self._peak = answer.precision, answer.peak


def _runner(build: Callable[[], Contender]) -> Callable[[_Call], _Answer]:
    """Build the contender and return what runs its workloads."""
    contender = build()

    def run(call: _Call) -> _Answer:
        work = partial(getattr(contender, call.workload), *call.arguments)
        if call.device is None:
            work()
            peak = None
        else:
            peak = contender.peak(work, call.device)
        return _Answer(contender.precision_of(call.workload), peak)

    return run


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
