from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from sumpool.errors import DataError
from sumpool.text.sentencepiece_tokenizer import Phrases
from sumpool.training.data_order import Position, TrainingData, reseed, updates_from
from tests.training.toy import DATA, ToyDocuments


def test_an_epoch_uses_every_document_once() -> None:
    plan = DATA.plan(batch_tokens=64)
    count = len(plan.batches(0))
    indices = [
        index for batches, _ in islice(updates_from(Position(), plan, 1), count) for batch in batches for index in batch
    ]
    assert sorted(indices) == list(range(len(DATA.training)))


def test_updates_continue_from_any_position() -> None:
    for batches in (1, 3):
        plan = DATA.plan(batch_tokens=64)
        updates = list(islice(updates_from(Position(), plan, batches), 20))
        assert updates[-1][1].epoch >= 2
        for done, (_, position) in enumerate(updates[:-1], start=1):
            assert next(updates_from(position, plan, batches)) == updates[done]


def test_batches_are_truncated() -> None:
    batch = DATA.batch(DATA.training, range(len(DATA.training)))
    assert batch.ids.size(1) == DATA.source_length
    assert batch.target is not None
    assert batch.target.size(1) == DATA.target_length
    assert len(DATA.plan(64).longest()) == 64 // DATA.source_length


def test_only_training_batches_have_phrases(tmp_path: Path) -> None:
    items = [(item.ids, item.sentences) for item in map(DATA.training.__getitem__, range(30))]
    data = replace(DATA, phrases=Phrases.train(items, tmp_path / "phrases.model", 60))
    batch = data.batch(data.training, [0, 1])
    assert batch.phrases is not None
    assert batch.phrases.shape == batch.ids.shape
    assert data.batch(data.validation, [0, 1]).phrases is None
    assert DATA.batch(DATA.training, [0, 1]).phrases is None


def test_rotated_documents_keep_the_tokens_that_the_model_reads() -> None:
    data = replace(DATA, rotate=0.5)
    indices = range(len(DATA.training))
    reseed(1, 1)
    rotated, straight = data.batch(data.training, indices), DATA.batch(DATA.training, indices)
    assert rotated.ids.sort(1).values.equal(straight.ids.sort(1).values)
    assert (rotated.sentences.diff(dim=1)[rotated.mask[:, 1:]] >= 0).all()
    assert 0 < (rotated.ids != straight.ids).any(1).sum() < len(indices)
    reseed(1, 1)
    assert data.batch(data.training, indices).ids.equal(rotated.ids)
    validation = data.batch(data.validation, [0, 1])
    assert validation.ids.equal(DATA.batch(DATA.validation, [0, 1]).ids)


def test_a_split_without_documents_is_an_error() -> None:
    for training, validation, split in ((0, 2, "training"), (2, 0, "validation")):
        with pytest.raises(DataError, match=f"the {split} split must hold a document with a summary, got none"):
            TrainingData(
                ToyDocuments(training, 1), ToyDocuments(validation, 1), source_length=8, target_length=8, seed=1
            )


def test_random_values_depend_on_seed_and_step_alone() -> None:
    def draw(seed: int, step: int) -> float:
        reseed(seed, step)
        return torch.rand(()).item()

    assert draw(1, 1) == draw(1, 1)
    assert len({draw(seed, step) for seed in range(4) for step in range(4)}) == 16


def test_the_last_update_reaches_the_token_budget() -> None:
    for batches in (1, 3):
        updates = updates_from(Position(), DATA.plan(batch_tokens=64), batches)
        tokens = [
            sum(int(DATA.batch(DATA.training, indices).mask.sum()) for indices in next(updates)[0]) for _ in range(40)
        ]
        for count in (1, 2, 17, 40):
            assert DATA.updates_for(sum(tokens[:count]), 64, batches) == count
            assert DATA.updates_for(sum(tokens[:count]) - 1, 64, batches) == count
            assert DATA.updates_for(sum(tokens[:count]) + 1, 64, batches) == count + 1
