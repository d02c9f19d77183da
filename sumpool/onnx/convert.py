"""Conversion of a model to two ONNX graphs by `torch.onnx`, with shapes that depend on the documents."""

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_leaves

from sumpool import __version__
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError, RecipeError, first_line
from sumpool.onnx.graphs import DECODER, ENCODER, DecoderGraph, EncoderGraph, GrowingCache, head_sizes
from sumpool.text.cleaning import markdown_code, markdown_table

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
"""Beams and steps of the example."""
_SENTENCE = 16
"""Tokens of its sentences."""


class GraphTensor(NamedTuple):
    """Input or output of a graph; sizes that vary have a name."""

    file: str
    use: Literal["input", "output"]
    name: str
    type: str
    shape: str


def require_onnx() -> None:
    """Check that the libraries of the export are installed.

    Raises:
        RecipeError: If one is missing.
    """
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise RecipeError(f"--format onnx must have {missing[0]}, which is not installed: pip install 'sumpool[onnx]'")


def convert(model: SummarizationModel, folder: Path) -> list[GraphTensor]:
    """Write `encoder.onnx` and `decoder.onnx`.

    Args:
        model: The model on the CPU, in evaluation mode and float32.
        folder: An existing folder.

    Returns:
        Inputs and outputs of both.

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


def _convert(model: SummarizationModel, folder: Path) -> list[GraphTensor]:
    # 1. Trace the encoder, with an input so long that no branch for short documents is taken.
    length = max(1, model.config.source_length - 1)
    ids = torch.arange(2 * length).view(2, -1) % model.vocabulary
    documents = (ids, torch.arange(length).expand(2, -1) < torch.tensor([[length], [length // 2]]), ids // _SENTENCE)
    encoder = _trace(EncoderGraph(model), documents, (_axes(0, 1),) * 3)
    # 2. Trace the decoder, whose inputs are outputs of the encoder.
    encoded = encoder.module()(*documents)
    history = GrowingCache.empty(head_sizes(model), 2, _BEAMS)
    buffers = [torch.zeros(*buffer.shape[:3], _STEPS * _BEAMS, buffer.size(4)) for buffer in history.buffers]
    tokens, ancestry = torch.zeros(2, _BEAMS, dtype=torch.long), torch.zeros(2, _BEAMS, _STEPS * _BEAMS)
    step = (tokens, tokens.clone(), torch.tensor(_STEPS), ancestry, buffers, encoded)
    decoder = _trace(DecoderGraph(model), step, _decoder_axes(encoder, encoded, len(buffers)))
    # 3. Convert both.
    layers = range(len(buffers))
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
    for tensor, varying in zip(inputs, tree_leaves(axes, is_leaf=_is_axes), strict=True):
        fixed = [axis for axis in varying if isinstance(tensor.shape[axis], int)]
        if fixed:
            raise ValueError(f"an input of {tuple(tensor.shape)} whose axis {fixed[0]} cannot vary")
    return program


def _is_axes(tree: object) -> bool:
    return isinstance(tree, dict) and all(isinstance(axis, int) for axis in tree)


def _decoder_axes(encoder: ExportedProgram, encoded: Mapping[str, Tensor], layers: int) -> tuple[Any, ...]:
    """Axes of the decoder's inputs that vary; those of `encoded` are those that vary in the encoder's output."""
    shapes = [node.meta["val"].shape for node in encoder.graph.output_node().args[0]]
    varying = [_axes(*(axis for axis, size in enumerate(shape) if not isinstance(size, int))) for shape in shapes]
    return (
        *(_axes(0, 1), _axes(0, 1), {}, _axes(0, 1, 2)),
        [_axes(1, 3)] * layers,
        dict(zip(encoded, varying, strict=True)),
    )


def _axes(*indices: int) -> dict[int, Any]:
    return {index: Dim.AUTO for index in indices}


def _save(program: ExportedProgram, inputs: Sequence[str], outputs: Sequence[str], path: Path) -> list[GraphTensor]:
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
        *(_describe(path.name, "input", tensor) for tensor in graph.inputs),
        *(_describe(path.name, "output", tensor) for tensor in graph.outputs),
    ]


def _describe(file: str, use: Literal["input", "output"], tensor: Any) -> GraphTensor:  # noqa: ANN401 - of onnx_ir
    return GraphTensor(file, use, tensor.name, tensor.dtype.name.lower(), f"({', '.join(map(str, tensor.shape))})")


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


def onnx_section(run: Path, model: SummarizationModel, tensors: Iterable[GraphTensor]) -> str:
    """Render the section of a model card on its ONNX graphs.

    Args:
        run: Run folder of the model.
        model: The model.
        tensors: Inputs and outputs of the graphs.
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
