"""How good a model is on documents that it does not learn from."""

import torch
from torch import nn

from sumpool.data.batches import Batch
from sumpool.interruption import Check
from sumpool.training.config import TrainConfig
from sumpool.training.feed import Material, reseed
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.loss import surprise
from sumpool.training.update import count_target_tokens, enough_memory, to_device


def validation_batches(material: Material, config: TrainConfig) -> list[list[int]]:
    """Group the first validation documents by length, as many at once as `batch_tokens` allows."""
    count = min(config.validate_documents, len(material.validation))
    items = [material.validation[number] for number in range(count)]
    lengths = material.lengths(items)
    batches: list[list[int]] = []
    for number in sorted(range(count), key=lambda number: (lengths[number], number)):
        if not batches or (len(batches[-1]) + 1) * lengths[number] > config.batch_tokens:
            batches.append([])
        batches[-1].append(number)
    return batches


@torch.no_grad()
def validate(model: nn.Module, material: Material, config: TrainConfig, device: torch.device, check: Check) -> float:
    """Take the mean surprise at the validation summaries.

    Returns:
        Nats per target token; every token counts the same.

    Raises:
        Interrupted: If a signal has come.
        ResourceError: If memory runs out.
    """
    model.eval()
    reseed(material.seed, 0)
    precision = choose_precision(config.precision, device)
    total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
    for rows in validation_batches(material, config):
        check()
        batch: Batch = material.collate([material.validation[row] for row in rows])
        tokens += count_target_tokens(batch)
        with enough_memory(batch, config.batch_tokens):
            sent = to_device(batch, device)
            assert sent.target is not None
            with autocast(device, precision):
                scores, _ = model(sent.ids, sent.mask, sent.sentences, sent.target)
            total += surprise(scores, sent.target)
    return float(total) / tokens
