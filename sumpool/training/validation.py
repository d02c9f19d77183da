"""How good a model is on documents that it does not learn from."""

import numpy as np
import torch
from torch import nn

from sumpool.interruption import Check
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData, reseed
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.update import count_target_tokens, enough_memory, to_device


def validation_batches(material: TrainingData, config: TrainConfig) -> list[list[int]]:
    """Group the first validation documents by length, as many at once as `batch_tokens` allows."""
    lengths = np.minimum(material.validation.lengths[: config.validate_documents], material.source_length)
    batches: list[list[int]] = []
    for number in np.argsort(lengths, kind="stable").tolist():
        if not batches or (len(batches[-1]) + 1) * lengths[number] > config.batch_tokens:
            batches.append([])
        batches[-1].append(number)
    return batches


@torch.no_grad()
def validate(
    model: nn.Module, material: TrainingData, config: TrainConfig, device: torch.device, check: Check
) -> float:
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
    for numbers in validation_batches(material, config):
        check()
        batch = material.batch(material.validation, numbers)
        tokens += count_target_tokens(batch)
        with enough_memory(batch, config.batch_tokens):
            sent = to_device(batch, device)
            assert sent.target is not None
            with autocast(device, precision):
                scores, *_ = model(sent.ids, sent.mask, sent.sentences, sent.target)
            total -= scores.log_prob.sum()
    return float(total) / tokens
