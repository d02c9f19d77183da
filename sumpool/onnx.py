"""ONNX: the encoder and one decoding step of a model as two graphs that ONNX Runtime executes.

encoder  documents -> all that a decoding step reads of them: projections of cross-attention and of the output head
decoder  newest tokens, their history and the encoder's output -> log-probabilities and the extended history

`torch.onnx` converts them from modules whose inputs and outputs are tensors with names, with shapes that depend on the
documents.
"""

import copy
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, final

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_leaves

from sumpool import __version__
from sumpool.core.model.kv_cache import BeamCache, newest_ancestry
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.nn.positions import sinusoid
from sumpool.core.pooling.halving import HalvingPooler
from sumpool.errors import CheckpointError, RecipeError, first_line
from sumpool.text.cleaning import markdown_code, markdown_table

if TYPE_CHECKING:
    import onnxruntime

ENCODER: Final = "encoder.onnx"
DECODER: Final = "decoder.onnx"
LENGTHS = "lengths"
"""Name of the predicted lengths, (batch,), among the encoder's outputs."""

MAX_DIFFERENCE = 0.05
"""Largest difference of log-probabilities; a wrong layout differs by several."""
_CHECK_BATCH, _CHECK_BEAMS, _CHECK_STRIDE = 2, 2, 7
"""Documents and hypotheses of a check, and difference of the ids of neighbours."""

OPSET: Final = 18
_MAX_FILE = 2**30
"""Bytes of weights above which they are stored beside the graph, whose own format ends at 2 GiB."""
_SIZES: Final = {
    **dict.fromkeys(("ids", "sentences", "copy_ids", "copy_first"), ("batch", "length")),
    **dict.fromkeys(("tokens", "previous_tokens"), ("batch", "beams")),
    "ancestry": ("batch", "beams", "slots"),
}
"""Names of the sizes of inputs, which other tensors share."""
_BEAMS, _STEPS = 3, 2
"""Beams and steps of the example that is traced."""
_SENTENCE = 16
"""Tokens of the sentences of both."""


@final
@dataclass(frozen=True)
class GrowingCache(BeamCache):
    """Cache whose tensors grow by the newest tokens and are never written in place."""

    @classmethod
    def empty(cls, sizes: Iterable[tuple[int, int]], documents: int, beams: int) -> Self:
        """Return a cache without tokens, given heads and features of a head of each layer."""
        buffers = [torch.empty(2, documents, heads, 0, features) for heads, features in sizes]
        return cls(torch.empty(documents, beams, 0), torch.zeros((), dtype=torch.long), buffers)

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
        embed = self.model.encoder.embed
        if embed.kind == "sinusoidal":
            table = sinusoid(torch.arange(model.config.source_length), embed.embedding.embedding_dim)
            embed.positions = nn.Embedding.from_pretrained(table.to(embed.embedding.weight))

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
        cache = GrowingCache(ancestry, length, buffers)
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
    last = torch.full((_CHECK_BATCH * _CHECK_BEAMS,), model.special_tokens.decoder_start)
    for length in sorted({1, *(model.config.source_length // part for part in (64, 8, 3, 1))} - {0}):
        mask = torch.arange(length) < torch.tensor([[length], [(length + 1) // 2]])
        ids = torch.arange(_CHECK_BATCH * length).view(_CHECK_BATCH, -1) * _CHECK_STRIDE % model.vocabulary
        documents = ids.masked_fill(~mask, pad), mask, torch.arange(length).expand(_CHECK_BATCH, -1) // _SENTENCE
        expected, _ = model.step(last, model.start(model.encode(*documents), _CHECK_BEAMS))
        try:
            log_probs, _ = graphs.step(last, graphs.start(*documents, beams=_CHECK_BEAMS, pad=pad))
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


def require_onnx() -> None:
    """Check that the libraries of the export are installed.

    Raises:
        RecipeError: If one is missing.
    """
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise RecipeError(f"--format onnx must have {missing[0]}, which is not installed: pip install 'sumpool[onnx]'")


def convert(model: SummarizationModel, folder: Path) -> list[tuple[str, ...]]:
    """Write `encoder.onnx` and `decoder.onnx`.

    Args:
        model: The model on the CPU, in evaluation mode and float32.
        folder: An existing folder.

    Returns:
        Inputs and outputs of both: file, use, name, type and shape, in which sizes that vary have a name.

    Raises:
        CheckpointError: If a part of the model has shapes that depend on values, or an operation that ONNX lacks.
    """
    try:
        with torch.no_grad(), _quiet():
            return _convert(model, folder)
    except Exception as error:  # the exporter has no class of its own
        cause = error
        while isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        raise CheckpointError(
            "--format onnx must have a model whose shapes follow from those of its input and whose operations are in "
            f"ONNX, got: {first_line(cause)}"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what the exporter prints, logs and warns about itself."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _convert(model: SummarizationModel, folder: Path) -> list[tuple[str, ...]]:
    config, layers = model.config, range(model.config.decoder.layers)
    # 1. Trace the encoder, with an input so long that no branch for short documents is taken.
    length = max(1, config.source_length - 1)
    ids = torch.arange(2 * length).view(2, -1) % model.vocabulary
    documents = (ids, torch.arange(length).expand(2, -1) < torch.tensor([[length], [length // 2]]), ids // _SENTENCE)
    encoder = _trace(EncoderGraph(model), documents, (_axes(0, 1),) * 3)
    # 2. Trace the decoder, whose inputs are outputs of the encoder.
    encoded = encoder.module()(*documents)
    buffers = [torch.zeros(2, 2, config.heads, _STEPS * _BEAMS, config.dim // config.heads) for _ in layers]
    tokens, ancestry = torch.zeros(2, _BEAMS, dtype=torch.long), torch.zeros(2, _BEAMS, _STEPS * _BEAMS)
    step = (tokens, tokens.clone(), torch.tensor(_STEPS), ancestry, buffers, encoded)
    shapes = [node.meta["val"].shape for node in encoder.graph.output_node().args[0]]
    varying = [_axes(*(axis for axis, size in enumerate(shape) if not isinstance(size, int))) for shape in shapes]
    of_encoded = dict(zip(encoded, varying, strict=True))  # those that vary in the encoder's output
    axes: tuple[Any, ...] = (_axes(0, 1), _axes(0, 1), {}, _axes(0, 1, 2), [_axes(1, 3)] * len(buffers), of_encoded)
    decoder = _trace(DecoderGraph(model), step, axes)
    # 3. Convert both.
    inputs = ["tokens", "previous_tokens", "length", "ancestry", *(f"cache_{layer}" for layer in layers)]
    outputs = ["log_probs", "next_ancestry", *(f"next_cache_{layer}" for layer in layers)]
    return [
        *_save(encoder, ["ids", "mask", "sentences"], list(encoded), folder / ENCODER),
        *_save(decoder, [*inputs, *encoded], outputs, folder / DECODER),
    ]


def _trace(graph: nn.Module, example: tuple[Any, ...], axes: tuple[Any, ...]) -> ExportedProgram:
    """Trace a graph. What holds for all shapes but 0 and 1 is assumed of these too: it concerns strides alone."""
    program = torch.export.export(
        graph, example, dynamic_shapes=axes, strict=False, prefer_deferred_runtime_asserts_over_guards=True
    )
    inputs = [node.meta["val"] for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]

    def is_leaf(tree: object) -> bool:  # the axes of a tensor, by their indices
        return isinstance(tree, dict) and all(isinstance(axis, int) for axis in tree)

    leaves = tree_leaves(axes, is_leaf=is_leaf)
    for tensor, varying in zip(inputs, leaves, strict=True):
        fixed = [axis for axis in varying if isinstance(tensor.shape[axis], int)]
        if fixed:
            raise ValueError(f"an input of {tuple(tensor.shape)} whose axis {fixed[0]} cannot vary")
    return program


def _axes(*indices: int) -> dict[int, Any]:
    return {index: Dim.AUTO for index in indices}


def _save(program: ExportedProgram, inputs: Sequence[str], outputs: Sequence[str], path: Path) -> list[tuple[str, ...]]:
    """Convert a program and write it; return its inputs and outputs."""
    converted = torch.onnx.export(
        program,
        input_names=inputs,
        output_names=outputs,
        opset_version=OPSET,
        custom_translation_table=_translations(),
        verbose=False,
    )
    assert converted is not None
    graph: Any = converted.model.graph
    symbols = [pair for tensor in graph.inputs for pair in zip(tensor.shape, _SIZES.get(tensor.name, ()), strict=False)]
    converted.rename_axes({symbol: size for symbol, size in symbols if not isinstance(symbol, int)})
    is_large = sum(tensor.nbytes for tensor in program.state_dict.values()) > _MAX_FILE
    converted.save(path, external_data=is_large)
    return [
        (path.name, use, tensor.name, tensor.dtype.name.lower(), f"({', '.join(map(str, tensor.shape))})")
        for use, tensors in (("input", graph.inputs), ("output", graph.outputs))
        for tensor in tensors
    ]


def _translations() -> dict[Any, Any]:
    """Return operators that torch has no translation for, or one that rounds otherwise.

    `TopK` is stable by its definition. `Sigmoid` of ONNX Runtime is constant below -18, where torch's is not; scores
    are ranked by it.
    """
    from onnxscript import opset18 as op

    def sort(values: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:  # noqa: ANN401, ARG001
        size = op.Gather(op.Shape(values), op.Constant(value_ints=[dim]))
        return op.TopK(values, size, axis=dim, largest=int(descending), sorted=1)

    def sigmoid(values: Any) -> Any:  # noqa: ANN401
        one = op.CastLike(op.Constant(value_float=1.0), values)
        return op.Reciprocal(op.Add(op.Exp(op.Neg(values)), one))

    return {torch.ops.aten.sort.stable: sort, torch.ops.aten.sigmoid.default: sigmoid}


def onnx_section(run: Path, model: SummarizationModel, tensors: Iterable[tuple[str, ...]]) -> str:
    """Render the section of a model card on its ONNX graphs.

    Args:
        run: Run folder of the model.
        model: The model.
        tensors: Inputs and outputs of the graphs, as `convert` returns them.
    """
    special_tokens = model.special_tokens
    table = "\n".join(markdown_table([("graph", "use", "name", "type", "shape"), *tensors]))
    return f"""
## ONNX graphs

`{ENCODER}` and `{DECODER}` compute in float32 what {markdown_code(str(run))} does
(sumpool {__version__}, opset {OPSET}). Sizes with a name vary; `slots` is the number of steps so far times `beams`.

{table}

The encoder takes token ids, True at tokens and False at padding behind them, and the number of the sentence of each
token. Its outputs are inputs of every step of the decoder.

At the first step `tokens` are {special_tokens.decoder_start}, `previous_tokens` {special_tokens.pad}, `length` is 0,
and `slots` 0. After a step, `tokens` are those that were chosen, `previous_tokens` those before them, `length` is one
more, and `next_ancestry` and `next_cache` take the place of `ancestry` and `cache`. A hypothesis that continues another
one takes the row of its `next_ancestry`; `next_cache` stays as it is. A summary ends at token {special_tokens.eos}.
"""
