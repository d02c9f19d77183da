"""A step of a search as one launch: on a GPU, to start its hundred small kernels takes longer than they do.

A step of fixed shapes is recorded once (a CUDA graph) and replayed from then on. A recording works in tensors of its
own: a state that is not made of them, as that of the next batch, is copied into them first.
"""

from collections.abc import Callable
from typing import Protocol, final

import torch
from torch import Tensor

from sumpool.core.model.summarizer import DecoderState, Memory, SummarizationModel

StepOutput = tuple[Tensor, DecoderState]

_MOST = 4
"""Recordings that are kept; each holds the keys and values of a batch."""
_STEPS = 64
"""Steps for which there is room are a multiple of this, so that batches share recordings."""


class GraphCapture(Protocol):
    """Records what a function does."""

    def __call__(self, run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
        """Record it; give the tensors that it returns, and a function that does it again in the same tensors."""


def capture_graph(run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
    """Record what a function does on the GPU; it must have run before, so that every library is ready."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = run()
    return found, graph.replay


@final
class GraphedDecoder:
    """The search's side of a model: as `start` and `step` of its own, recorded where that is possible and pays."""

    def __init__(self, model: SummarizationModel, record: GraphCapture | None = None) -> None:
        """Prepare.

        Args:
            model: The model, in evaluation mode when it steps; its weights stay where they are.
            record: How to record a step; None makes a graph of it on a GPU and takes it as it is elsewhere.
        """
        self._model = model
        self._record = record
        if record is None and model.embedding.weight.is_cuda and model.decoder.has_fixed_shapes:
            self._record = capture_graph
        self._recordings: dict[tuple[object, ...], tuple[list[Tensor], StepOutput, Callable[[], object]]] = {}

    def start(self, memory: Memory, beams: int, tokens: int) -> DecoderState:
        """Begin a search that writes at most so many tokens; see `SummarizationModel.start`."""
        steps = (tokens + 1 + _STEPS - 1) // _STEPS * _STEPS  # the first shows BEGIN
        return self._model.start(memory, beams, steps if self._record else None)

    def step(self, last: Tensor, state: DecoderState) -> StepOutput:
        """Go a token further, in tensors that the next step overwrites; see `SummarizationModel.step`."""
        if self._record is None or not state.written.rooms:
            return self._model.step(last, state)  # the first step makes the rooms and wakes the libraries
        given = [*_tensors(state), last]  # in this order: the token before may lie where the last one is to be put
        shapes = tuple((tensor.shape, tensor.dtype) for tensor in given)
        if shapes not in self._recordings:
            if len(self._recordings) == _MOST:
                del self._recordings[next(iter(self._recordings))]
            own_last, own_state = last.clone(), state.apply(torch.clone)
            found, replay = self._record(lambda: self._model.step(own_last, own_state))
            self._recordings[shapes] = [*_tensors(own_state), own_last], found, replay
        own, found, replay = self._recordings[shapes]
        for kept, tensor in zip(own, given, strict=True):
            if kept is not tensor:
                kept.copy_(tensor)
        replay()
        return found


def _tensors(state: DecoderState) -> list[Tensor]:
    found: list[Tensor] = []

    def find(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    state.apply(find)
    return found
