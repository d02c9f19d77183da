"""The two graphs of a model: as modules whose inputs and outputs are tensors with names, and in ONNX Runtime.

encoder  documents -> all that a decoding step reads of them: projections of cross-attention and of the output head
decoder  newest tokens, their history and the encoder's output -> log-probabilities and the extended history
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, final

import torch
from torch import Tensor, nn

from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.kv_cache import BeamCache, newest_ancestry
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.nn.positions import Embed, sinusoid
from sumpool.core.pooling.halving import HalvingPooler
from sumpool.errors import CheckpointError, first_line

if TYPE_CHECKING:
    import onnxruntime


ENCODER: Final = "encoder.onnx"
DECODER: Final = "decoder.onnx"
LENGTHS = "lengths"
"""Name of the predicted lengths, (batch,), among the encoder's outputs."""

MAX_DIFFERENCE = 0.05
"""Largest difference of log-probabilities; a wrong layout differs by several."""
_BATCH, _BEAMS, _SENTENCE, _STRIDE = 2, 2, 16, 7
"""Documents and hypotheses of a check, tokens of a sentence, and difference of the ids of neighbours."""


@final
@dataclass(frozen=True)
class GrowingCache(BeamCache):
    """Cache whose tensors grow by the newest tokens and are never written in place.

    Attributes:
        length: Tokens of every hypothesis, ().
    """

    length: Tensor = field(kw_only=True)

    @classmethod
    def empty(cls, sizes: Iterable[tuple[int, int]], documents: int, beams: int) -> Self:
        """Return a cache without tokens, given heads and features of a head of each layer."""
        buffers = [torch.empty(2, documents, heads, 0, features) for heads, features in sizes]
        return cls(torch.empty(documents, beams, 0), buffers, length=torch.zeros((), dtype=torch.long))

    @property
    def position(self) -> Tensor:
        """Position of the newest token in its summary, (), counted from 0."""
        return self.length - 1

    def advance(self) -> Self:
        """Allocate a slot for the next token of every beam."""
        documents, beams, _ = self.ancestry_bias.shape
        newest = newest_ancestry(beams, self.ancestry_bias.device)
        bias = torch.cat([self.ancestry_bias, newest.expand(documents, -1, -1)], dim=2)
        return replace(self, ancestry_bias=bias, buffers=list(self.buffers), length=self.length + 1)

    def update(self, layer: int, key_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Write a layer's keys and values of the newest tokens, (2, documents, heads, beams, head_dim)."""
        self.buffers[layer] = torch.cat([self.buffers[layer], key_value], dim=3)
        key, value = self.buffers[layer].unbind()
        return key, value, self.ancestry_bias


@final
class EncoderGraph(nn.Module):
    """Documents -> what the decoder reads of them."""

    def __init__(self, model: SummarizationModel) -> None:
        """Copy a model and give its encoder shapes that do not depend on values.

        Documents are encoded in one piece, and tournaments have the rounds of the longest document. Sinusoids are
        stored: exponentials of another library differ in the last bit, which far positions multiply, and scores that
        are nearly equal would be ranked otherwise.
        """
        super().__init__()
        self.model = copy.deepcopy(model)
        self.model.encoder.chunked = False
        for module in self.model.modules():
            if isinstance(module, HalvingPooler):
                module.max_length = model.config.source_length
        _store_sinusoids(self.model.encoder.embed, model.config.source_length)

    def forward(self, ids: Tensor, mask: Tensor, sentences: Tensor) -> dict[str, Tensor]:
        """Encode documents; see `SummarizationModel.encode` and `encoded_tensors`."""
        return encoded_tensors(self.model.start(self.model.encode(ids, mask, sentences), beams=1))


@final
class DecoderGraph(nn.Module):
    """One step of a search."""

    def __init__(self, model: SummarizationModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        previous_tokens: Tensor,
        length: Tensor,
        ancestry: Tensor,
        buffers: list[Tensor],
        encoded: dict[str, Tensor],
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Compute log-probabilities (batch, beams, vocab) and the extended cache; see `SummarizationModel.step`.

        Args:
            tokens: (batch, beams), the newest token of each hypothesis; the decoder's first input at first.
            previous_tokens: (batch, beams), the token before it; padding at first.
            length: (), tokens of each hypothesis before `tokens`.
            ancestry: (batch, beams, length * beams), `BeamCache.ancestry_bias`.
            buffers: Keys and values of each layer, (2, batch, heads, length * beams, head_dim).
            encoded: Output of the encoder.
        """
        cache = GrowingCache(ancestry, buffers, length=length)
        state = decoder_state(encoded, previous_tokens, cache)
        log_probs, state = self.model.step(tokens.flatten(), state)
        return log_probs.unflatten(0, tokens.shape), state.self_cache.ancestry_bias, state.self_cache.buffers


def encoded_tensors(state: DecoderState) -> dict[str, Tensor]:
    """Return what a search reads of its documents.

    Returns:
        Caches of the cross-attention of each layer and of the output head, and predicted lengths, if any, by name.
    """
    caches = {f"cross_{layer}": cache for layer, cache in enumerate(state.cross_cache)} | {"copy": state.copy_cache}
    tensors = {f"{part}_{name}": tensor for part, cache in caches.items() for name, tensor in cache.items()}
    return tensors if state.predicted_lengths is None else {**tensors, LENGTHS: state.predicted_lengths}


def decoder_state(encoded: Mapping[str, Tensor], previous_tokens: Tensor, cache: GrowingCache) -> DecoderState:
    """Return the state of a search that reads `encoded`; the inverse of `encoded_tensors`."""
    return DecoderState(
        cross_cache=[_with_prefix(encoded, f"cross_{layer}_") for layer in range(len(cache.buffers))],
        copy_cache=_with_prefix(encoded, "copy_"),
        previous_token=previous_tokens,
        self_cache=cache,
        predicted_lengths=encoded.get(LENGTHS),
    )


def _with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def head_sizes(model: SummarizationModel) -> Iterator[tuple[int, int]]:
    """Heads of the decoder's self-attention, and features of each, by layer; some may have been removed."""
    for layer in model.decoder.layers:
        assert isinstance(layer, DecoderLayer)
        yield layer.attention.heads, model.config.dim // model.config.heads


def _store_sinusoids(embed: Embed, length: int) -> None:
    """Replace computed positions by a table of the same values."""
    if embed.kind == "sinusoidal":
        table = sinusoid(torch.arange(length), embed.embedding.embedding_dim)
        embed.positions = nn.Embedding.from_pretrained(table.to(embed.embedding.weight))


@final
class OnnxModel:
    """The graphs of a model; `start` and `step` are those of `SummarizationModel`."""

    def __init__(
        self, folder: Path, open_session: "Callable[[Path], onnxruntime.InferenceSession] | None" = None
    ) -> None:
        """Load both graphs.

        Args:
            folder: Folder with `encoder.onnx` and `decoder.onnx`.
            open_session: Loads a graph; None takes ONNX Runtime with one thread per core.
        """
        if open_session is None:
            import onnxruntime

            open_session = onnxruntime.InferenceSession
        self._encoder, self._decoder = (open_session(folder / graph) for graph in (ENCODER, DECODER))

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
