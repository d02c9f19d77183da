from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.data.batches import BatchPlan, collate
from sumpool.data.shards import Item
from sumpool.special_tokens import EOS, PAD
from sumpool.text.phrases import Phrases


def item(name: str, length: int, target: list[int] | None = None) -> Item:
    ids = np.arange(10, 10 + length, dtype=np.uint16)
    sentences = np.arange(length, dtype=np.int32) // 3
    return Item(name, ids, sentences, None if target is None else np.array(target, np.uint16))


def test_collate_pads_to_the_longest_document() -> None:
    batch = collate([item("a", 2), item("b", 5)], source_length=100, target_length=10)
    assert batch.ids.tolist() == [[10, 11, PAD, PAD, PAD], [10, 11, 12, 13, 14]]
    assert batch.mask.tolist() == [[True, True, False, False, False], [True] * 5]
    assert batch.sentences.tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert (batch.ids.dtype, batch.mask.dtype, batch.sentences.dtype) == (torch.int64, torch.bool, torch.int64)
    assert batch.target is None
    assert batch.documents == ("a", "b")


def test_collate_cuts_what_the_model_does_not_read() -> None:
    batch = collate([item("a", 9), item("b", 2)], source_length=4, target_length=10)
    assert batch.ids.tolist() == [[10, 11, 12, 13], [10, 11, PAD, PAD]]
    assert batch.mask.sum(1).tolist() == [4, 2]
    assert batch.sentences[0].tolist() == [0, 0, 0, 1]


def test_collate_keeps_the_end_of_a_document_that_it_cuts() -> None:
    whole = Item("a", np.array([5, 7, 8, 9, EOS], np.uint16), np.array([0, 0, 1, 2, 2], np.int32), None)
    batch = collate([whole, item("b", 9)], source_length=4, target_length=10)
    assert batch.ids.tolist() == [[5, 7, 8, EOS], [10, 11, 12, 13]]
    assert batch.sentences.tolist() == [[0, 0, 1, 1], [0, 0, 0, 1]]


def test_only_a_whole_summary_teaches_its_end() -> None:
    items = [item("short", 1, [7]), item("fits", 1, [7, 8, 9]), item("cut", 1, [7, 8, 9, 10, 11])]
    batch = collate(items, source_length=4, target_length=4)
    assert batch.target is not None
    assert batch.target.tolist() == [[7, EOS, PAD, PAD], [7, 8, 9, EOS], [7, 8, 9, 10]]


def test_a_summary_as_long_as_the_target_has_no_room_for_an_end() -> None:
    batch = collate([item("a", 1, [7, 8, 9, 10])], source_length=4, target_length=4)
    assert batch.target is not None
    assert batch.target.tolist() == [[7, 8, 9, 10]]


def test_targets_are_as_wide_as_the_longest_summary() -> None:
    batch = collate([item("a", 1, [7]), item("b", 1, [7, 8])], source_length=4, target_length=400)
    assert batch.target is not None
    assert batch.target.shape == (2, 3)


def test_ids_above_int16_survive() -> None:
    whole = Item("a", np.array([65535], np.uint16), np.zeros(1, np.int32), np.array([40000], np.uint16))
    batch = collate([whole], 4, 4)
    assert batch.ids.tolist() == [[65535]]
    assert batch.target is not None
    assert batch.target.tolist() == [[40000, EOS]]


def test_a_teacher_numbers_the_phrases_of_what_is_read(tmp_path: Path) -> None:
    documents = [item("a", 9), item("b", 5)]
    teacher = Phrases.train([(each.ids, each.sentences) for each in documents] * 50, tmp_path / "phrases.model", 20)
    batch = collate(documents, source_length=6, target_length=10, teacher=teacher)
    assert batch.phrases is not None
    expected = [teacher.indices(each.ids[:6], each.sentences[:6]).tolist() for each in documents]
    assert batch.phrases.tolist() == [expected[0], [*expected[1], 0]]
    assert batch.phrases.dtype is torch.int64
    assert collate(documents, source_length=6, target_length=10).phrases is None


def test_collate_needs_documents_of_one_kind() -> None:
    with pytest.raises(ValueError, match="items must hold a document, got none"):
        collate([], 4, 4)
    with pytest.raises(ValueError, match="all items or none must have a target, got 1 of 2"):
        collate([item("a", 1), item("b", 1, [7])], 4, 4)


def test_a_batch_moves_as_a_whole() -> None:
    batch = collate([item("a", 2, [7])], 4, 4).to(torch.device("meta"))
    assert batch.target is not None
    assert {part.device.type for part in (batch.ids, batch.mask, batch.sentences, batch.target)} == {"meta"}
    assert collate([item("a", 2)], 4, 4).to(torch.device("meta")).target is None


def lengths(documents: int, most: int = 4000) -> np.ndarray:
    return np.random.default_rng(0).integers(1, most, documents)


def test_an_epoch_holds_every_document_once_within_the_budget() -> None:
    sizes = lengths(1000)
    batches = BatchPlan(sizes, batch_tokens=8000, seed=1).batches(0)
    assert sorted(document for batch in batches for document in batch) == list(range(1000))
    assert all(len(batch) * sizes[batch].max() <= 8000 for batch in batches)


def test_a_document_beyond_the_budget_is_a_batch_of_its_own() -> None:
    batches = BatchPlan([5, 500, 5, 501], batch_tokens=100, seed=1).batches(0)
    assert sorted(map(sorted, batches)) == [[0, 2], [1], [3]]


def test_documents_of_similar_length_travel_together() -> None:
    sizes = lengths(2000)
    batches = BatchPlan(sizes, batch_tokens=16000, seed=1).batches(0)
    padded = sum(len(batch) * sizes[batch].max() for batch in batches)
    assert sizes.sum() / padded > 0.93  # random batches of the same size waste a third and more


def test_epochs_differ_in_order_and_in_company() -> None:
    plan = BatchPlan(lengths(300), batch_tokens=16000, seed=1)
    first, second = plan.batches(0), plan.batches(1)
    assert first != second
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}


def test_batches_are_not_sorted_by_length() -> None:
    sizes = lengths(500)
    longest = [sizes[batch].max() for batch in BatchPlan(sizes, batch_tokens=8000, seed=1).batches(0)]
    rises = sum(after > before for before, after in pairwise(longest))
    assert 0.35 < rises / len(longest) < 0.65


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    plan = BatchPlan(lengths(300), 8000, seed=3)
    plan.batches(7)
    assert plan.batches(2) == BatchPlan(lengths(300), 8000, seed=3).batches(2)
    assert plan.batches(2) != BatchPlan(lengths(300), 8000, seed=4).batches(2)


@pytest.mark.parametrize("place", [0, 1, 17, 40])
def test_starting_anywhere_goes_on_as_if_never_stopped(place: int) -> None:
    plan = BatchPlan(lengths(60), 8000, seed=3)
    whole = list(islice(plan.start_at(0, 0), 60))
    epoch, index, _ = whole[place]
    assert list(islice(plan.start_at(epoch, index), 60 - place)) == whole[place:]


def test_the_end_of_an_epoch_is_the_beginning_of_the_next() -> None:
    plan = BatchPlan(lengths(60), 8000, seed=3)
    assert next(plan.start_at(0, len(plan.batches(0))))[:2] == (1, 0)


def test_the_longest_batch_holds_the_longest_document() -> None:
    sizes = lengths(200)
    assert sizes.argmax() in BatchPlan(sizes, 8000, seed=3).longest()


def test_a_plan_needs_documents_and_a_budget() -> None:
    with pytest.raises(ValueError, match="lengths must name a document, got none"):
        BatchPlan([], 8000, seed=1)
    with pytest.raises(ValueError, match="batch_tokens must be at least 1, got 0"):
        BatchPlan([1], 0, seed=1)
