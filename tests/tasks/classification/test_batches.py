from pathlib import Path

import numpy as np
import torch

from sumpool.data.batches import NO_PADDING
from sumpool.data.shards import Item, Shard, ShardWriter, TextsWriter
from sumpool.data.sources._base import Example
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, PAD
from sumpool.tasks.classification.batches import Pairs, collate_labelled
from sumpool.tasks.classification.labels import join_pair, split_pair


def item(name: str, ids: list[int], label: int | None, sentences: list[int] | None = None) -> Item:
    target = None if label is None else np.array([label], np.uint16)
    return Item(name, np.array(ids, np.uint16), np.array(sentences or [0] * len(ids), np.int32), target)


def pair(name: str, first: list[int], second: list[int], label: int | None) -> Item:
    return join_pair(item(name, first, label), item(name, second, label), PAD)


def test_a_pair_survives_joining_and_splitting() -> None:
    joined = join_pair(item("a", [7, 8, 9], 1, [0, 0, 1]), item("a", [5, 6], 1, [0, 1]), PAD)
    assert joined.ids.tolist() == [7, 8, 9, PAD, 5, 6]
    assert joined.sentences.tolist() == [0, 0, 1, 1, 2, 3]
    first, second = split_pair(joined, PAD)
    assert (first.ids.tolist(), first.sentences.tolist()) == ([7, 8, 9], [0, 0, 1])
    assert (second.ids.tolist(), second.sentences.tolist()) == ([5, 6], [0, 1])
    assert split_pair(first, PAD) == (first,)


def test_classes_are_targets_without_padding() -> None:
    batch = collate_labelled([item("a", [7, 8, 9], 0), item("b", [5], 2)], 2, 9, None, DEFAULT_SPECIAL_TOKENS)
    assert batch.ids.tolist() == [[7, 8], [5, PAD]]
    assert batch.mask.tolist() == [[True, True], [True, False]]
    assert batch.target is not None
    assert batch.target.tolist() == [[0], [2]]
    assert (batch.documents, batch.pad) == (("a", "b"), NO_PADDING)


def test_documents_of_a_pair_stand_side_by_side() -> None:
    items = [pair("a", [7, 8, 9], [5], 0), pair("b", [6], [10, 11], 1)]
    batch = collate_labelled(items, 8, 9, None, DEFAULT_SPECIAL_TOKENS)
    assert batch.ids.tolist() == [[[7, 8, 9], [5, PAD, PAD]], [[6, PAD, PAD], [10, 11, PAD]]]
    assert torch.equal(batch.mask, batch.ids != PAD)
    assert batch.sentences.shape == (2, 2, 3)
    assert batch.documents == ("a", "b")


def test_documents_to_classify_have_no_target() -> None:
    assert collate_labelled([item("a", [7], None)], 8, 9, None, DEFAULT_SPECIAL_TOKENS).target is None


def test_a_pair_takes_twice_its_longer_document(tmp_path: Path) -> None:
    items = [pair("a", [7, 8, 9], [5], 0), pair("b", [6], [10, 11], 1), pair("c", [6], [7], 1)]
    with ShardWriter(tmp_path, "train", 300) as shard, TextsWriter(tmp_path, "train") as texts:
        for row in items:
            shard.add(row)
            texts.add(Example(row.id, "text", "label", "train"))
    pairs = Pairs(Shard(tmp_path, "train"), PAD)
    assert (len(pairs), pairs.lengths.tolist()) == (3, [6, 4, 2])
    assert pairs[1].ids.tolist() == [6, PAD, 10, 11]
