"""Batches that exceed the memory: an error that names the batch and a remedy, or halves with the same sums."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch
from sumpool.errors import ResourceError, advise_smaller_batches, is_out_of_memory

Work = Callable[[Batch], dict[str, Tensor]]
"""Returns sums over the documents of a batch, by name, and may accumulate gradients."""


class BatchDivision:
    """Work on batches, in halves where memory cannot hold them.

    Sums and gradients of the halves add up to those of the batch. A failed attempt leaves neither gradients nor random
    draws behind; without dropout the results are those of the undivided batch up to the rounding of sums.

    Attributes:
        failed: Documents and source tokens per document of the smallest batch that failed; None if none did.
    """

    def __init__(self, enabled: bool, batch_tokens: int, parameters: Sequence[nn.Parameter] = ()) -> None:
        """Divide batches.

        Args:
            enabled: Whether batches are divided; otherwise they raise an error.
            batch_tokens: Setting that the error names.
            parameters: Parameters whose gradients the work accumulates.
        """
        self.enabled = enabled
        self.failed: tuple[int, int] | None = None
        self._batch_tokens = batch_tokens
        self._parameters = parameters

    def note(self) -> str:
        """Describe the batches that are divided."""
        documents, length = self.failed or (0, 0)
        return f"memory cannot hold a batch of {documents} documents of {length} tokens; such batches are divided"

    def run(self, batch: Batch, work: Work) -> dict[str, Tensor]:
        """Do the work on a batch, or on its halves.

        Raises:
            ResourceError: If memory runs out, and batches are not divided or this one has one document.
        """
        if not self.enabled or len(batch.documents) == 1:
            with enough_memory(batch, self._batch_tokens):
                return work(batch)
        size = len(batch.documents) * batch.ids.size(-1)
        if self.failed is None or size < self.failed[0] * self.failed[1]:
            sums = self._attempt(batch, work)
            if sums is not None:
                return sums
            self.failed = len(batch.documents), batch.ids.size(-1)
        first, second = (self.run(half, work) for half in halve(batch))
        return {name: value + second[name] for name, value in first.items()}

    def _attempt(self, batch: Batch, work: Work) -> dict[str, Tensor] | None:
        """Do the work on the whole batch; return None, with gradients and generators as before, if memory runs out."""
        earlier = [parameter.grad for parameter in self._parameters]
        generators = torch.get_rng_state(), torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
        for parameter in self._parameters:
            parameter.grad = None
        try:
            sums = work(batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            sums = None
        for parameter, gradient in zip(self._parameters, earlier, strict=True):
            if sums is None or parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad = gradient.add_(parameter.grad)
        if sums is None:
            torch.set_rng_state(generators[0])
            if generators[1] is not None:
                torch.cuda.set_rng_state(generators[1])
        return sums


def halve(batch: Batch) -> tuple[Batch, Batch]:
    """Divide a batch of several documents into two, without padding that neither half needs."""
    middle = len(batch.documents) // 2
    return _part(batch, slice(0, middle)), _part(batch, slice(middle, len(batch.documents)))


def _part(batch: Batch, rows: slice) -> Batch:
    mask = batch.mask[rows]
    towers = batch.mask[0, ..., 0].numel()
    by_document = slice(rows.start * towers, rows.stop * towers)
    length = max(1, int(mask.sum(-1).max()))
    target = None if batch.target is None else batch.target[rows]
    if target is not None:
        target = target[:, : max(1, int((target != batch.pad).sum(1).max()))]
    return replace(
        batch,
        ids=batch.ids[rows, ..., :length],
        mask=mask[..., :length],
        sentences=batch.sentences[rows, ..., :length],
        target=target,
        documents=batch.documents[rows],
        phrases=None if batch.phrases is None else batch.phrases[rows, ..., :length],
        lengths=None if batch.lengths is None else batch.lengths[by_document],
    )


@contextmanager
def enough_memory(batch: Batch, batch_tokens: int) -> Iterator[None]:
    """Convert out-of-memory errors to errors that name the batch and a remedy.

    Raises:
        ResourceError: If the block runs out of memory.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        documents, length = len(batch.documents), batch.ids.size(-1)
        target = 0 if batch.target is None else batch.target.size(1)
        remedy = "lower model.source_length, or set train.checkpoint_activations=true"
        if documents > 1:
            remedy = advise_smaller_batches(batch_tokens)
        raise ResourceError(
            f"memory must hold a batch of {documents} document{'s' if documents > 1 else ''} of {length} source and "
            f"{target} target tokens, but it ran out: {remedy}"
        ) from error
