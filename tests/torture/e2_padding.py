"""Padded batches whose padding is filled with random tokens and sentence numbers."""

from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.items import Item
from tests.torture.figures import Measured
from tests.training.toy import MODEL, VOCABULARY

ID: Final = "E2"
FIGURE: Final = "padded ids and sentences at random: states, losses and gradients bit-identical"
NIGHT: Final = 200
QUICK: Final = 10
_DOCUMENTS = 3


def measure(count: int, folder: Path) -> Measured:
    """Compare `count` batches with copies of random padding."""
    torch.manual_seed(2)
    model = SummarizationModel(MODEL, VOCABULARY).eval()
    random = np.random.default_rng(2)
    same = sum(_is_same(model, random) for _ in range(count))
    return Measured(f"{same:,} of {count:,} identical", same == count, count)


def _is_same(model: SummarizationModel, random: np.random.Generator) -> bool:
    items = []
    for number in range(_DOCUMENTS):
        ids = random.integers(5, VOCABULARY, size=random.integers(1, MODEL.source_length + 1))
        items.append(Item(str(number), ids, np.arange(len(ids)) // 4, ids[: random.integers(1, 5)]))
    batch = collate(items, MODEL.source_length, MODEL.target_length)
    assert batch.target is not None
    noise = torch.from_numpy(random.integers(5, VOCABULARY, size=batch.ids.shape))
    plain = _results(model, batch.ids, batch.mask, batch.sentences, batch.target)
    noisy = _results(
        model, batch.ids.where(batch.mask, noise), batch.mask, batch.sentences.where(batch.mask, noise), batch.target
    )
    return all(torch.equal(one, other) for one, other in zip(plain, noisy, strict=True))


def _results(model: SummarizationModel, ids: Tensor, mask: Tensor, sentences: Tensor, target: Tensor) -> list[Tensor]:
    """Return the states of the memory, the log-probabilities of the references, and all gradients."""
    model.zero_grad()
    memory = model.encode(ids, mask, sentences)
    scores = model.score(memory, target)
    scores.nll.backward()
    states = memory.tokens.states.detach().where(memory.tokens.mask[..., None], 0.0)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return [states, scores.log_prob, *(gradient.clone() for gradient in gradients)]
