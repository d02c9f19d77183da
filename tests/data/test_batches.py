from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.data.batches import Position, TrainingData, bucketed_batches, collate, fill_batches, reseed, updates_from
from sumpool.data.shards import Item
from sumpool.errors import DataError
from sumpool.special_tokens import EOS, PAD, SpecialTokens
from sumpool.text.sentencepiece_tokenizer import Phrases
from tests.training.toy import DATA, ToyDocuments


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


def test_collate_truncates_documents() -> None:
    batch = collate([item("a", 9), item("b", 2)], source_length=4, target_length=10)
    assert batch.ids.tolist() == [[10, 11, 12, 13], [10, 11, PAD, PAD]]
    assert batch.mask.sum(1).tolist() == [4, 2]
    assert batch.sentences[0].tolist() == [0, 0, 0, 1]


def test_collate_keeps_eos_of_truncated_documents() -> None:
    whole = Item("a", np.array([5, 7, 8, 9, EOS], np.uint16), np.array([0, 0, 1, 2, 2], np.int32), None)
    batch = collate([whole, item("b", 9)], 4, 10, special_tokens=SpecialTokens(suffix=(EOS,)))
    assert batch.ids.tolist() == [[5, 7, 8, EOS], [10, 11, 12, 13]]
    assert batch.sentences.tolist() == [[0, 0, 1, 1], [0, 0, 0, 1]]
    batch = collate([whole, item("b", 9)], 4, 10, special_tokens=SpecialTokens(suffix=(9, EOS)))
    assert batch.ids.tolist() == [[5, 7, 9, EOS], [10, 11, 12, 13]]
    assert batch.sentences[0].tolist() == [0, 0, 0, 0]


def test_only_complete_summaries_have_eos() -> None:
    items = [
        item("short", 1, [7]),
        item("fits", 1, [7, 8, 9]),
        item("as long", 1, [7, 8, 9, 10]),
        item("cut", 1, [7, 8, 9, 10, 11]),
    ]
    batch = collate(items, source_length=4, target_length=4)
    assert batch.target is not None
    assert batch.target.tolist() == [[7, EOS, PAD, PAD], [7, 8, 9, EOS], [7, 8, 9, 10], [7, 8, 9, 10]]


def test_ids_above_int16_survive() -> None:
    whole = Item("a", np.array([65535], np.uint16), np.zeros(1, np.int32), np.array([40000], np.uint16))
    batch = collate([whole], 4, 4)
    assert batch.ids.tolist() == [[65535]]
    assert batch.target is not None
    assert batch.target.tolist() == [[40000, EOS]]


def test_teacher_gives_phrases_of_truncated_documents(tmp_path: Path) -> None:
    documents = [item("a", 9), item("b", 5)]
    teacher = Phrases.train(
        [(document.ids, document.sentences) for document in documents] * 50, tmp_path / "phrases.model", 20
    )
    batch = collate(documents, source_length=6, target_length=10, teacher=teacher)
    assert batch.phrases is not None
    expected = [teacher.indices(document.ids[:6], document.sentences[:6]).tolist() for document in documents]
    assert batch.phrases.tolist() == [expected[0], [*expected[1], 0]]
    assert batch.phrases.dtype is torch.int64
    assert collate(documents, source_length=6, target_length=10).phrases is None


def test_all_tensors_move_to_the_device() -> None:
    batch = collate([item("a", 2, [7])], 4, 4).to(torch.device("meta"))
    assert batch.target is not None
    assert {part.device.type for part in (batch.ids, batch.mask, batch.sentences, batch.target)} == {"meta"}
    assert collate([item("a", 2)], 4, 4).to(torch.device("meta")).target is None


def lengths(documents: int, maximum: int = 4000) -> np.ndarray:
    return np.random.default_rng(0).integers(1, maximum, documents)


def test_epoch_has_every_document_once_within_the_budget() -> None:
    sizes = lengths(1000)
    batches = bucketed_batches(sizes, 8000, seed=1, epoch=0)
    assert sorted(document for batch in batches for document in batch) == list(range(1000))
    assert all(len(batch) * sizes[batch].max() <= 8000 for batch in batches)


def test_document_beyond_the_budget_is_a_batch_alone() -> None:
    batches = bucketed_batches([5, 500, 5, 501], 100, seed=1, epoch=0)
    assert sorted(map(sorted, batches)) == [[0, 2], [1], [3]]


def test_batches_have_documents_of_similar_length() -> None:
    sizes = lengths(2000)
    batches = bucketed_batches(sizes, 16000, seed=1, epoch=0)
    padded = sum(len(batch) * sizes[batch].max() for batch in batches)
    assert sizes.sum() / padded > 0.93  # random batches of the same size waste a third and more


def test_epochs_differ_in_batches_and_order() -> None:
    first, second = (bucketed_batches(lengths(300), 16000, seed=1, epoch=epoch) for epoch in range(2))
    assert first != second
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}


def test_batches_are_not_sorted_by_length() -> None:
    sizes = lengths(500)
    longest = [sizes[batch].max() for batch in bucketed_batches(sizes, 8000, seed=1, epoch=0)]
    rises = sum(after > before for before, after in pairwise(longest))
    assert 0.35 < rises / len(longest) < 0.65


def test_order_depends_on_seed_and_epoch_only() -> None:
    batches = bucketed_batches(lengths(300), 8000, seed=3, epoch=2)
    assert batches == bucketed_batches(lengths(300), 8000, seed=3, epoch=2)
    assert batches != bucketed_batches(lengths(300), 8000, seed=4, epoch=2)


def test_batches_are_bounded_in_tokens_and_documents() -> None:
    lengths = [5, 1, 2, 9, 2, 1]
    assert fill_batches([1, 5, 2, 4, 0, 3], lengths, 6) == [[1, 5, 2], [4], [0], [3]]
    assert fill_batches([1, 5, 2, 4, 0, 3], lengths, 100, max_documents=4) == [[1, 5, 2, 4], [0, 3]]
    assert fill_batches([], lengths, 6) == []


def test_an_epoch_uses_every_document_once() -> None:
    epochs = DATA.epochs(batch_tokens=64)
    count = len(epochs(0))
    indices = [
        index
        for batches, _ in islice(updates_from(Position(), epochs, 1), count)
        for batch in batches
        for index in batch
    ]
    assert sorted(indices) == list(range(len(DATA.training)))


def test_updates_continue_from_any_position() -> None:
    for batches in (1, 3):
        epochs = DATA.epochs(batch_tokens=64)
        updates = list(islice(updates_from(Position(), epochs, batches), 20))
        assert updates[-1][1].epoch >= 2
        for done, (_, position) in enumerate(updates[:-1], start=1):
            assert next(updates_from(position, epochs, batches)) == updates[done]


def test_batches_are_truncated() -> None:
    batch = DATA.batch(DATA.training, range(len(DATA.training)))
    assert batch.ids.size(1) == DATA.source_length
    assert batch.target is not None
    assert batch.target.size(1) == DATA.target_length


def test_only_training_batches_have_phrases(tmp_path: Path) -> None:
    items = [(item.ids, item.sentences) for item in map(DATA.training.__getitem__, range(30))]
    data = replace(DATA, phrases=Phrases.train(items, tmp_path / "phrases.model", 60))
    batch = data.batch(data.training, [0, 1])
    assert batch.phrases is not None
    assert batch.phrases.shape == batch.ids.shape
    assert data.batch(data.validation, [0, 1]).phrases is None
    assert DATA.batch(DATA.training, [0, 1]).phrases is None


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
        updates = updates_from(Position(), DATA.epochs(batch_tokens=64), batches)
        tokens = [
            sum(int(DATA.batch(DATA.training, indices).mask.sum()) for indices in next(updates)[0]) for _ in range(40)
        ]
        for count in (1, 2, 17, 40):
            assert DATA.updates_for(sum(tokens[:count]), 64, batches) == count
            assert DATA.updates_for(sum(tokens[:count]) - 1, 64, batches) == count
            assert DATA.updates_for(sum(tokens[:count]) + 1, 64, batches) == count + 1
