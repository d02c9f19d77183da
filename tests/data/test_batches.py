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


def test_collate_truncates_and_pads_to_the_longest_document() -> None:
    batch = collate([item("a", 2), item("b", 9)], source_length=5, target_length=10)
    assert batch.ids.tolist() == [[10, 11, PAD, PAD, PAD], [10, 11, 12, 13, 14]]
    assert batch.mask.tolist() == [[True, True, False, False, False], [True] * 5]
    assert batch.sentences.tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert (batch.ids.dtype, batch.mask.dtype, batch.sentences.dtype) == (torch.int64, torch.bool, torch.int64)
    assert batch.target is None
    assert batch.documents == ("a", "b")


def test_collate_keeps_eos_of_truncated_documents() -> None:
    whole = Item("a", np.array([5, 7, 8, 9, EOS], np.uint16), np.array([0, 0, 1, 2, 2], np.int32), None)
    batch = collate([whole, item("b", 9)], 4, 10, special_tokens=SpecialTokens(suffix=(EOS,)))
    assert batch.ids.tolist() == [[5, 7, 8, EOS], [10, 11, 12, 13]]
    assert batch.sentences.tolist() == [[0, 0, 1, 1], [0, 0, 0, 1]]


def test_only_complete_summaries_have_eos() -> None:
    targets = ([7], [7, 8, 9], [7, 8, 9, 10], [7, 8, 9, 10, 65535])
    batch = collate([item("a", 1, target) for target in targets], source_length=4, target_length=5)
    assert batch.target is not None
    assert batch.target.tolist() == [
        [7, EOS, PAD, PAD, PAD],
        [7, 8, 9, EOS, PAD],
        [7, 8, 9, 10, EOS],
        [7, 8, 9, 10, 65535],  # above int16
    ]


def test_teacher_gives_phrases_of_truncated_documents(tmp_path: Path) -> None:
    documents = [item("a", 9), item("b", 5)]
    pairs = [(document.ids, document.sentences) for document in documents]
    teacher = Phrases.train(pairs * 50, tmp_path / "phrases.model", 20)
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


def test_an_epoch_has_every_document_once_in_batches_of_similar_lengths_in_random_order() -> None:
    sizes = lengths(2000)
    batches = bucketed_batches(sizes, 16000, seed=1, epoch=0)
    assert sorted(document for batch in batches for document in batch) == list(range(2000))
    padded = [len(batch) * sizes[batch].max() for batch in batches]
    assert max(padded) <= 16000
    assert sizes.sum() / sum(padded) > 0.93  # random batches of the same size waste a third and more
    longest = [sizes[batch].max() for batch in batches]
    rises = sum(after > before for before, after in pairwise(longest))
    assert 0.35 < rises / len(longest) < 0.65


def test_batches_and_their_order_depend_on_seed_and_epoch_only() -> None:
    sizes = lengths(300)
    batches = bucketed_batches(sizes, 8000, seed=3, epoch=2)
    assert batches == bucketed_batches(sizes, 8000, seed=3, epoch=2)
    for seed, epoch in ((4, 2), (3, 1)):
        other = bucketed_batches(sizes, 8000, seed=seed, epoch=epoch)
        assert other != batches
        assert {frozenset(batch) for batch in other} != {frozenset(batch) for batch in batches}


def test_batches_are_bounded_in_tokens_and_documents() -> None:
    lengths = [5, 1, 2, 9, 2, 1]
    assert fill_batches([1, 5, 2, 4, 0, 3], lengths, 6) == [[1, 5, 2], [4], [0], [3]]
    assert fill_batches([1, 5, 2, 4, 0, 3], lengths, 100, max_documents=4) == [[1, 5, 2, 4], [0, 3]]
    assert fill_batches([], lengths, 6) == []
    assert fill_batches([0, 2, 1, 3], [5, 500, 5, 501], 100) == [[0, 2], [1], [3]]  # beyond the budget
    assert bucketed_batches([5], 100, seed=1, epoch=0) == [[0]]


def test_updates_continue_from_any_position() -> None:
    for batches in (1, 3):
        epochs = DATA.epochs(batch_tokens=64)
        updates = list(islice(updates_from(Position(), epochs, batches), 20))
        used = [batch for update, _ in updates for batch in update]
        assert used == [batch for epoch in range(9) for batch in epochs(epoch)][: len(used)]
        assert updates[-1][1].epoch >= 2
        for done, (_, position) in enumerate(updates[:-1], start=1):
            assert next(updates_from(position, epochs, batches)) == updates[done]


def test_batches_are_truncated_and_those_of_training_have_phrases(tmp_path: Path) -> None:
    items = [(item.ids, item.sentences) for item in map(DATA.training.__getitem__, range(30))]
    data = replace(DATA, phrases=Phrases.train(items, tmp_path / "phrases.model", 60))
    batch = data.batch(data.training, range(30))
    assert batch.target is not None
    assert (batch.ids.size(1), batch.target.size(1)) == (DATA.source_length, DATA.target_length)
    assert batch.phrases is not None
    assert batch.phrases.shape == batch.ids.shape
    assert data.batch(data.validation, [0, 1]).phrases is None
    assert DATA.batch(DATA.training, [0, 1]).phrases is None


def test_a_split_without_documents_is_an_error() -> None:
    for training, validation, split in ((0, 2, "training"), (2, 0, "validation")):
        documents, others = ToyDocuments(training, 1), ToyDocuments(validation, 1)
        with pytest.raises(DataError, match=f"the {split} split must hold a document with a summary, got none"):
            TrainingData(documents, others, source_length=8, target_length=8, seed=1)


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
