"""CUDA-graph capture of one decoding step.

Launch overhead exceeds the run time of the step's roughly 100 small kernels. A step of fixed shapes is captured once
and replayed from then on. A graph computes in tensors of its own: the first state of a batch is copied into them.
"""

import weakref
from collections.abc import Callable
from typing import final

import torch
from torch import Tensor

from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.nn.numerics import round_up

StepOutput = tuple[Tensor, DecoderState]

MAX_CAPTURED_GRAPHS = 4
"""Graphs that are kept; each holds the KV cache of a batch."""
STEPS_MULTIPLE = 64
"""The number of steps of a static cache is rounded up to a multiple of this, so that batches share graphs."""
LENGTHS_PER_OCTAVE = 4
"""Lengths of source and memory between a power of two and the next to which others are padded, so that batches share
graphs: at most a fifth of a step reads padding."""
SHORTEST_LENGTH = 64
"""Shortest length of source and memory."""


GraphCapture = Callable[[Callable[[], StepOutput]], tuple[StepOutput, Callable[[], object]]]
"""Captures the kernels that a function launches; returns its output tensors, and a function that computes them again in
place."""

_idle_streams: list[torch.cuda.Stream] = []
"""Streams of graphs that no longer exist."""


def capture_graph(run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
    """Capture a function on the GPU; it must have run before, so that libraries are initialised.

    Each graph has a stream of its own: when a graph is deleted, PyTorch 2.13 frees the cuBLAS workspace of its stream,
    which other graphs of the stream would still write to (pytorch/pytorch#193402).
    """
    stream = _idle_streams.pop() if _idle_streams else torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    weakref.finalize(graph, _idle_streams.append, stream)
    with torch.cuda.graph(graph, stream=stream):
        output = run()
    return output, graph.replay


def bucket(length: int) -> int:
    """Return the length to which a source or memory is padded."""
    multiple = max(1, (1 << (max(length - 1, 1).bit_length() - 1)) // LENGTHS_PER_OCTAVE)
    return max(SHORTEST_LENGTH, round_up(length, multiple))


@final
class GraphedDecoder:
    """`SummarizationModel.start` and `SummarizationModel.step`, with steps captured where that is possible and pays."""

    def __init__(self, model: SummarizationModel, capture: GraphCapture | None = None) -> None:
        """Prepare; nothing is captured yet.

        Args:
            model: The model, in evaluation mode when it steps; its weights may change, and move before `start`.
            capture: How to capture a step; None captures CUDA graphs on a GPU and nothing elsewhere.
        """
        self._model = model
        if capture is None and model.embedding.weight.is_cuda:
            capture = capture_graph
        self._capture = capture
        # By shapes: input tensors, output tensors, and the function that computes these.
        self._graphs: dict[tuple[object, ...], tuple[list[Tensor], StepOutput, Callable[[], object]]] = {}
        self._addresses: list[int] = []

    def start(self, memory: Memory, beams: int, tokens: int, *, independent: bool = False) -> DecoderState:
        """Start a search of summaries of at most `tokens` tokens; see `SummarizationModel.start`."""
        if self._capture is None:
            return self._model.start(memory, beams, independent=independent)
        addresses = [parameter.data_ptr() for parameter in self._model.parameters()]
        if addresses != self._addresses:  # sharded weights are gathered anew for each validation
            self._graphs.clear()
            self._addresses = addresses
        steps = round_up(tokens + 1, STEPS_MULTIPLE)  # the first step reads BOS
        return self._model.start(memory.padded(*map(bucket, memory.size)), beams, steps, independent=independent)

    def step(self, last: Tensor, state: DecoderState) -> StepOutput:
        """Take one step; the next step overwrites the returned tensors. See `SummarizationModel.step`."""
        if self._capture is None or not state.self_cache.buffers:
            return self._model.step(last, state)  # the first step allocates buffers and initialises libraries
        inputs = [*_tensors(state), last]  # copied in this order: the previous token may alias the last one's input
        device = last.device.type
        autocast = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        shapes = (autocast, *((tensor.shape, tensor.dtype) for tensor in inputs))
        if shapes not in self._graphs:
            if len(self._graphs) == MAX_CAPTURED_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            graph_last, graph_state = last.clone(), state.map_tensors(torch.clone)
            # A graph would read the weights that autocast has rounded and keeps until its context ends.
            with torch.autocast(device, autocast, enabled=autocast is not None, cache_enabled=False):
                output, replay = self._capture(lambda: self._model.step(graph_last, graph_state))
            self._graphs[shapes] = [*_tensors(graph_state), graph_last], output, replay
        graph_inputs, output, replay = self._graphs[shapes]
        for graph_input, tensor in zip(graph_inputs, inputs, strict=True):
            if graph_input is not tensor:
                graph_input.copy_(tensor)
        replay()
        return output


def _tensors(state: DecoderState) -> list[Tensor]:
    """All tensors of a state, in a fixed order."""
    tensors: list[Tensor] = []

    def collect(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    state.map_tensors(collect)
    return tensors
