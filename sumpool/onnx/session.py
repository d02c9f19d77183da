"""ONNX graphs in ONNX Runtime, behind the interface that a search takes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor

from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.errors import CheckpointError, first_line
from sumpool.onnx.convert import DECODER, ENCODER
from sumpool.onnx.graphs import GrowingCache, decoder_state, encoded_tensors

if TYPE_CHECKING:
    import onnxruntime

MAX_DIFFERENCE = 0.05
"""Largest difference of log-probabilities; a wrong layout differs by several."""
_BATCH, _BEAMS, _SENTENCE, _STRIDE = 2, 2, 16, 7
"""Documents and hypotheses of a check, tokens of a sentence, and difference of the ids of neighbours."""


@final
class OnnxModel:
    """The graphs of a model; `start` and `step` are those of `SummarizationModel`."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """Load both graphs.

        Args:
            folder: Folder with `encoder.onnx` and `decoder.onnx`.
            threads: Threads of an operator; None takes one per core.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        self._encoder = onnxruntime.InferenceSession(folder / ENCODER, options)
        self._decoder = onnxruntime.InferenceSession(folder / DECODER, options)

    def start(self, ids: Tensor, mask: Tensor, sentences: Tensor, beams: int, pad: int) -> DecoderState:
        """Encode documents and return the state of a search before its first step.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            beams: Hypotheses of each document.
            pad: Id of padding.
        """
        encoded = _run(self._encoder, {"ids": ids, "mask": mask, "sentences": sentences})
        shapes = [given.shape for given in self._decoder.get_inputs() if given.name.startswith("cache_")]
        sizes = [(heads, size) for _, _, heads, _, size in shapes]
        cache = GrowingCache.empty(sizes, len(ids), beams)
        return decoder_state(encoded, ids.new_full((len(ids), beams), pad), cache)

    def step(self, last: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Take one step; see `SummarizationModel.step`."""
        cache = state.self_cache
        assert isinstance(cache, GrowingCache)
        newest = last.view(state.previous_token.shape)
        inputs = {
            "tokens": newest,
            "previous_tokens": state.previous_token,
            "length": cache.length,
            "ancestry": cache.ancestry_bias,
            **{f"cache_{layer}": buffer for layer, buffer in enumerate(cache.buffers)},
            **encoded_tensors(state),
        }
        log_probs, ancestry, *buffers = _run(self._decoder, inputs).values()
        cache = replace(cache, ancestry_bias=ancestry, buffers=buffers, length=cache.length + 1)
        return log_probs.flatten(0, 1), replace(state, previous_token=newest, self_cache=cache)


def _run(session: "onnxruntime.InferenceSession", inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Run a graph: tensors by name in, tensors by name out."""
    names = [output.name for output in session.get_outputs()]
    arrays = session.run(names, {name: tensor.numpy() for name, tensor in inputs.items()})
    return {name: torch.from_numpy(array) for name, array in zip(names, arrays, strict=True)}


@torch.inference_mode()
def check_graphs(model: SummarizationModel, folder: Path) -> None:
    """Compare a step of the graphs with that of the model they are made of, for documents of several lengths.

    Raises:
        CheckpointError: If log-probabilities differ by more than rounding and the ranking of nearly equal scores do.
    """
    graphs, pad = OnnxModel(folder), model.special_tokens.pad
    last = torch.full((_BATCH * _BEAMS,), model.special_tokens.decoder_start)
    for length in sorted({1, *(model.config.source_length // part for part in (64, 8, 3, 1))} - {0}):
        mask = torch.arange(length) < torch.tensor([[length], [(length + 1) // 2]])
        ids = torch.arange(_BATCH * length).view(_BATCH, -1) * _STRIDE % model.vocabulary
        documents = ids.masked_fill(~mask, pad), mask, torch.arange(length).expand(_BATCH, -1) // _SENTENCE
        expected, _ = model.step(last, model.start(model.encode(*documents), _BEAMS))
        try:
            log_probs, _ = graphs.step(last, graphs.start(*documents, beams=_BEAMS, pad=pad))
        except Exception as error:  # of ONNX Runtime, whose exceptions have no common class
            raise _unequal(length, first_line(error)) from error
        difference = (log_probs - expected).masked_fill(expected.isneginf() & log_probs.isneginf(), 0.0).abs().max()
        if not difference <= MAX_DIFFERENCE:
            raise _unequal(length, f"log-probabilities that differ by {difference:.2g}")


def _unequal(length: int, reason: str) -> CheckpointError:
    return CheckpointError(
        f"--format onnx must have graphs that compute what the model does, got for {length:,} tokens {reason}; the "
        "model has a part that torch cannot convert"
    )
