"""Classifiers are trained by the same loop as summarisers."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import EncoderLayerConfig
from sumpool.data.batches import TrainingData
from sumpool.data.shards import Item
from sumpool.special_tokens import PAD
from sumpool.tasks.classification.labels import join_pair, split_pair
from sumpool.tasks.classification.model import (
    ClassificationModel,
    ClassificationModelConfig,
    ClassifierConfig,
    collate_labelled,
)
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.fit import fit
from sumpool.training.update import Updater, halve
from tests.training.toy import VOCABULARY, ToyDocuments, new_run, records_of

CLASSES = 3
CONFIG = TrainConfig(
    steps=60,
    batch_tokens=200,
    learning_rate=0.01,
    schedule=ScheduleConfig(kind="linear", warmup=6),
    validate_every=6,
    checkpoint_every=20,
    precision="fp32",
    device="cpu",
)


class LabelledDocuments(ToyDocuments):
    """Random documents or pairs whose class is that of their first token."""

    def __init__(self, count: int, seed: int, *, pairs: bool) -> None:
        random = np.random.default_rng(seed)
        self.items = []
        for number in range(count):
            parts = [random.integers(5, VOCABULARY, size=random.integers(3, 9)) for _ in range(2)]
            target = parts[-pairs][:1] % CLASSES
            first, second = (Item(f"doc{seed}-{number}", ids, np.zeros(len(ids)), target) for ids in parts)
            self.items.append(join_pair(first, second, PAD) if pairs else first)

    @property
    def lengths(self) -> np.ndarray:
        return np.array([2 * max(len(part.ids) for part in split_pair(item, PAD)) for item in self.items])


def data(*, pairs: bool) -> TrainingData:
    documents = LabelledDocuments(16, 1, pairs=pairs)
    return TrainingData(documents, documents, 8, 1, seed=7, collate=collate_labelled, towers=1 + pairs)


def new_model(*, pairs: bool, dropout: float = 0.1) -> ClassificationModel:
    torch.manual_seed(1)
    layer = EncoderLayerConfig(attention=VanillaAttentionConfig())
    head = ClassifierConfig(towers=1 + pairs)
    config = ClassificationModelConfig(
        dim=16, heads=2, feed_forward=16, source_length=8, encoder=(layer,), classifier=head
    )
    return ClassificationModel(config.model_copy(update={"dropout": dropout}), VOCABULARY, CLASSES)


@pytest.mark.parametrize("pairs", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_classifier_learns_its_documents(pairs: bool, tmp_path: Path) -> None:
    fit(new_model(pairs=pairs), CONFIG, data(pairs=pairs), run := new_run(tmp_path / "run"))
    first, *_, last = records_of(run, "validation")
    assert first["accuracy"] < last["accuracy"] == 1.0
    assert last["nats"] < 0.3


def test_accumulated_batches_weigh_rows_equally() -> None:
    documents, gradients = data(pairs=False), []
    for batches in ([range(16)], [range(2), range(2, 16)]):
        model = new_model(pairs=False, dropout=0.0).double()
        updater = Updater(model, CONFIG, torch.device("cpu"))
        updater.update([documents.batch(documents.training, rows) for rows in batches], rate=0.0)
        gradients.append(torch.cat([part.grad.flatten() for part in model.parameters() if part.grad is not None]))
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)


def test_halves_of_a_batch_of_pairs_are_smaller_batches() -> None:
    documents = data(pairs=True)
    batch = documents.batch(documents.training, [0, 1, 2])
    first, second = halve(batch)
    assert first.documents + second.documents == batch.documents
    for half, indices in ((first, [0]), (second, [1, 2])):
        alone = documents.batch(documents.training, indices)
        assert torch.equal(half.ids, alone.ids)
        assert torch.equal(half.mask, alone.mask)
        assert half.lengths == alone.lengths == tuple(half.mask.sum(2).flatten().tolist())
        assert half.target is not None
        assert alone.target is not None
        assert torch.equal(half.target, alone.target)
