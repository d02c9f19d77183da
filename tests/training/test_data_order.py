from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from sumpool.errors import DataError
from sumpool.text.phrases import Phrases
from sumpool.training.data_order import Position, TrainingData, reseed, updates_from
from tests.training.toy import MATERIAL, ItemSource


def test_an_epoch_sees_every_document_once() -> None:
    plan = MATERIAL.plan(batch_tokens=64)
    count = len(plan.batches(0))
    seen = [
        number
        for batches, _ in islice(updates_from(Position(), plan, 1), count)
        for batch in batches
        for number in batch
    ]
    assert sorted(seen) == list(range(len(MATERIAL.training)))


@pytest.mark.parametrize("batches", [1, 3])
def test_a_run_goes_on_from_any_place_with_what_would_have_come(batches: int) -> None:
    plan = MATERIAL.plan(batch_tokens=64)
    updates = list(islice(updates_from(Position(), plan, batches), 20))
    assert updates[-1][1].epoch >= 2
    for done, (_, place) in enumerate(updates[:-1], start=1):
        assert next(updates_from(place, plan, batches)) == updates[done]


def test_batches_are_cut_to_what_the_model_reads() -> None:
    batch = MATERIAL.batch(MATERIAL.training, range(len(MATERIAL.training)))
    assert batch.ids.size(1) == MATERIAL.source_length
    assert batch.target is not None
    assert batch.target.size(1) == MATERIAL.target_length
    assert len(MATERIAL.plan(64).longest()) == 64 // MATERIAL.source_length


def test_phrases_are_taught_in_training_only(tmp_path: Path) -> None:
    read = [(item.ids, item.sentences) for item in map(MATERIAL.training.__getitem__, range(30))]
    material = replace(MATERIAL, teacher=Phrases.train(read, tmp_path / "phrases.model", 60))
    batch = material.batch(material.training, [0, 1])
    assert batch.phrases is not None
    assert batch.phrases.shape == batch.ids.shape
    assert material.batch(material.validation, [0, 1]).phrases is None
    assert MATERIAL.batch(MATERIAL.training, [0, 1]).phrases is None


@pytest.mark.parametrize(("training", "validation", "split"), [(0, 2, "training"), (2, 0, "validation")])
def test_a_split_without_documents_is_refused(training: int, validation: int, split: str) -> None:
    with pytest.raises(DataError, match=f"the {split} split must hold a document with a summary, got none"):
        TrainingData(ItemSource(training, 1), ItemSource(validation, 1), source_length=8, target_length=8, seed=1)


def test_random_numbers_depend_on_seed_and_step_alone() -> None:
    def draw(seed: int, step: int) -> float:
        reseed(seed, step)
        return torch.rand(()).item()

    assert draw(1, 1) == draw(1, 1)
    assert len({draw(seed, step) for seed in range(4) for step in range(4)}) == 16


@pytest.mark.parametrize("batches", [1, 3])
def test_a_budget_is_reached_by_its_last_update_and_not_before(batches: int) -> None:
    updates = updates_from(Position(), MATERIAL.plan(batch_tokens=64), batches)
    read = [
        sum(int(MATERIAL.batch(MATERIAL.training, numbers).mask.sum()) for numbers in next(updates)[0])
        for _ in range(40)
    ]
    for count in (1, 2, 17, 40):
        assert MATERIAL.updates_for(sum(read[:count]), 64, batches) == count
        assert MATERIAL.updates_for(sum(read[:count]) - 1, 64, batches) == count
        assert MATERIAL.updates_for(sum(read[:count]) + 1, 64, batches) == count + 1
