"""Our documents as LED of transformers wants them: the same pieces, cut at the same lengths, under its names."""

from collections.abc import Mapping, Sequence
from typing import final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sumpool.bench.peers.trainer import Items
from sumpool.core.model.config import ModelConfig
from sumpool.data.batches import Item, collate
from sumpool.special_tokens import PAD

IGNORED = -100
"""Stands in the labels where there is no piece."""
Feature = Mapping[str, Tensor]
"""A document: `input_ids` (length,) and `labels` (target,), unpadded."""


@final
class Features:
    """Documents as a data set of torch, one `Feature` each."""

    def __init__(self, items: Items, config: ModelConfig) -> None:
        self.items = items
        self.config = config

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> Feature:
        if not 0 <= number < len(self):
            raise IndexError(f"a document's number must lie within 0 and {len(self) - 1}, got {number}")
        return feature(self.items[number], self.config)


def feature(item: Item, config: ModelConfig) -> Feature:
    """Cut a document, and a summary if there is one, at the lengths of our model."""
    batch = collate([item], config.source_length, config.target_length)
    found = {"input_ids": batch.ids[0]}
    return found if batch.target is None else {**found, "labels": batch.target[0]}


def inputs(features: Sequence[Feature]) -> dict[str, Tensor]:
    """Pad documents into a batch; all have labels, or none has.

    Returns:
        `input_ids`, `attention_mask` and `global_attention_mask` (batch, length), the first token of every document
        being global; and `labels` (batch, target).
    """
    documents = [each["input_ids"] for each in features]
    ids = pad_sequence(documents, batch_first=True, padding_value=PAD)
    mask = pad_sequence([torch.ones_like(document) for document in documents], batch_first=True)
    everywhere = torch.zeros_like(ids)
    everywhere[:, 0] = 1
    found = {"input_ids": ids, "attention_mask": mask, "global_attention_mask": everywhere}
    if "labels" in features[0]:
        labels = [each["labels"] for each in features]
        found["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
    return found
