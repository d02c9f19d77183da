"""From a file with several runs to the recipes of its rows, or to a sentence for everything that is wrong in it."""

from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.workflows.sweep import load_sweep

SWEEP = """\
sweep: toy
seeds: [1, 2]
source_tokens: 500
recipe:
  data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 300}
  model:
    dim: 16
    heads: 2
    source_length: 64
    encoder:
      - {attention: {kind: blockwise, block: 16}}
      - {attention: {kind: blockwise, block: 16}}
  train: {batch_tokens: 256}
rows:
  blockwise:
  halving: {"model.encoder[1].pool": {kind: halving, keep: 8}, train.clip: 0.5}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP)
    return path


def problems_of(path: Path, text: str, *overrides: str) -> str:
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        load_sweep(path, overrides)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_row_is_the_recipe_with_changed_settings(file: Path) -> None:
    loaded = load_sweep(file)
    blockwise, halving = loaded.rows
    assert loaded.settings.seeds == (1, 2)
    assert loaded.settings.split == "validation"
    assert (blockwise.name, halving.name) == ("blockwise", "halving")
    assert [layer.pool for layer in blockwise.model.encoder] == [None, None]
    assert halving.model.encoder[1].pool is not None
    assert halving.train.clip == 0.5
    assert blockwise.prepared_folder == halving.prepared_folder == Path("prepared/toy")
    unlike = {"name": blockwise.name, "model": blockwise.model, "train": blockwise.train}
    assert halving.model_copy(update=unlike) == blockwise


def test_overrides_change_the_sweep_or_the_recipe_of_its_rows(file: Path) -> None:
    loaded = load_sweep(file, ["seeds=[3]", "train.clip=2.0", "train.learning_rate=0.5", "model.encoder[0].pool=null"])
    assert loaded.settings.seeds == (3,)
    assert [row.train.clip for row in loaded.rows] == [2.0, 0.5]
    assert {row.train.learning_rate for row in loaded.rows} == {0.5}


def test_problems_of_all_rows_are_reported_at_once(file: Path) -> None:
    text = (
        SWEEP.replace("batch_tokens: 256", "batch_tokens: 0, steps: 3")
        .replace("blockwise:\n", "blockwise: {train.stpes: 3}\n", 1)
        .replace("clip: 0.5", "clip: -1")
        + '  "../up": {seed: 3, "train[0]": 1, "no path": 2, "model.encoder[7].pool": null, data.vocabulary: 301}\n'
    )
    assert problems_of(file, text, "train.schedule", "model.encoder[9].pool=null").splitlines() == [
        "11 problems",
        "  - --set must look like section.setting=value, got 'train.schedule'",
        "  - --set model.encoder[9].pool: model.encoder must have an entry 9, got 2 counted from 0",
        "  - recipe: train.steps must be left to the sweep's source_tokens",
        "  - recipe: train.batch_tokens must be at least 1, got 0",
        "  - rows.blockwise: train.stpes is not a setting of train (did you mean steps?)",
        "  - rows.halving: train.clip must be at least 0.0, got -1",
        "  - rows.../up: its name must match [A-Za-z0-9][A-Za-z0-9._-]{0,47}, got '../up'",
        "  - rows.../up: train[0]: train must be a list to have an entry 0, got {'batch_tokens': 0, 'steps': 3}",
        "  - rows.../up: no path: a path must look like section.setting, got 'no path'",
        "  - rows.../up: model.encoder[7].pool: model.encoder must have an entry 7, got 2 counted from 0",
        "  - rows.../up: seed must be left to the sweep's seeds",
    ]


def test_problems_of_the_sweep_are_reported(file: Path) -> None:
    for old, new, message in [
        ("seeds: [1, 2]", "seeds: [1, 1]", "seeds must be different, got [1, 1]"),
        ("seeds: [1, 2]", "seed: [1]", "seed is not a setting of a sweep (did you mean seeds?)"),
        ("source_tokens: 500", "", "source_tokens is missing (Source tokens that each run trains on"),
        ("rows:", "rows: {}\nsplit: train\n#", "rows must name one row at least, got {}"),
        ("rows:", "rows: []\nsplit: test\n#", "rows must be a mapping, got []"),
        ("sweep: toy", "sweep: ../up", "sweep must be text that matches"),
        ("train.clip: 0.5", "data.vocabulary: 301", "rows.halving: data must be the same in every row"),
    ]:
        text = SWEEP.replace(old, new)
        if "#" in new:
            text = text[: text.index("#")]
        assert problems_of(file, text).startswith(message)


def test_a_misspelt_key_sweep_is_suggested(file: Path) -> None:
    file.write_text(SWEEP.replace("sweep:", "seep:"))
    with pytest.raises(RecipeError, match=r"seep is not a setting of a sweep \(did you mean sweep\?\)"):
        load_sweep(file)
