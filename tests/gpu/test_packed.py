from pathlib import Path

import numpy as np
import pack
import pytest
from packed import PackedSplit, require_small_vocabulary, stages, write_parts

from sumpool.data.batches import collate
from sumpool.data.shards import Shard
from sumpool.errors import DataError
from sumpool.recipe.load import load_recipe


def test_packed_documents_make_the_same_batches(packed_data: Path) -> None:
    packed = PackedSplit.read(packed_data / "pack/first", "train")
    shard = Shard(packed_data / "first", "train")
    assert len(packed) == len(shard) > 40
    seed = load_recipe(packed_data / "first.yaml").seed
    order = np.random.default_rng(seed).permutation(len(shard)).tolist()
    ours = collate([packed[index] for index in range(len(packed))], 48, 16)
    theirs = collate([shard[index] for index in order], 48, 16)
    for name in ("ids", "mask", "sentences", "target"):
        assert getattr(ours, name).equal(getattr(theirs, name)), name
    assert packed.lengths.tolist() == ours.mask.sum(1).tolist()


def test_parts_end_at_a_size_and_are_joined(packed_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packed._PART_TOKENS", 100)
    packed = PackedSplit.read(packed_data / "pack/first", "train")
    items = [packed[index] for index in range(len(packed))]
    documents, size = write_parts(tmp_path, "train", items, 1500)
    assert 0 < documents < len(items)
    assert size >= 1500
    assert len(list(tmp_path.glob("train-*.xz"))) > 1
    read = PackedSplit.read(tmp_path, "train")
    assert len(read) == documents
    assert read[documents - 1].ids.tolist() == items[documents - 1].ids.tolist()
    assert read[documents - 1].sentences.tolist() == items[documents - 1].sentences.tolist()


def test_ids_are_two_bytes(packed_data: Path) -> None:
    assert PackedSplit.read(packed_data / "pack/second", "validation").tokens.dtype == np.uint16
    require_small_vocabulary(65536)
    with pytest.raises(DataError, match="must have at most 65,536 tokens, got 65,537"):
        require_small_vocabulary(65537)


def test_other_folders_are_refused(packed_data: Path, tmp_path: Path) -> None:
    assert stages(packed_data / "pack") == ["first", "second"]
    with pytest.raises(DataError, match=r"must be a folder that pack\.py wrote, got FileNotFoundError"):
        stages(tmp_path)
    with pytest.raises(DataError, match="must hold parts of the train split, got none"):
        PackedSplit.read(tmp_path, "train")


def test_settings_of_the_command_line_apply(packed_data: Path, tmp_path: Path) -> None:
    pack.main([str(packed_data / "first.yaml"), "--out", str(tmp_path), "--set", "train.steps=7", "--mebibytes", "1"])
    assert "steps: 7" in (tmp_path / "first/recipe.yaml").read_text()
