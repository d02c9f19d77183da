"""Documents of training among those of validation and test: reported by `prepare`, refused by `train`."""

import json
import random
from pathlib import Path
from typing import Final

from sumpool.data.texts import Texts
from sumpool.errors import DataError
from sumpool.progress import go_on, silent
from sumpool.recipe.load import load_recipe
from sumpool.runs.training_setup import set_up_training
from sumpool.workflows.prepare import prepare
from tests.conftest import TOY, story
from tests.torture.figures import Measured

ID: Final = "H1"
FIGURE: Final = (
    "planted texts of training in validation and test: all counted and refused; no id shared; clean data trains"
)
NIGHT: Final = 60
QUICK: Final = 2
_ROWS = 60


def measure(count: int, folder: Path) -> Measured:
    """Plant texts in every second of `count` data sets."""
    right = refused = 0
    for number in range(count):
        data = folder / str(number)
        data.mkdir()
        right += _is_right(data, random.Random(number), planted=number % 2 * random.Random(number).randint(1, 4))
        refused += number % 2
    text = f"{right:,} of {count:,} right, {refused:,} with planted texts"
    return Measured(text, right == count, count)


def _is_right(data: Path, draw: random.Random, planted: int) -> bool:
    rows = [{"id": f"d{row}", "document": story(row, 6), "summary": story(row, 1)} for row in range(_ROWS)]
    (data / "toy.yaml").write_text(TOY.format(folder=data))
    recipe = load_recipe(data / "toy.yaml", ["data.source.validation_share=0.2", "data.source.test_share=0.2"])
    _write(data, rows)
    folder, _ = prepare(recipe)
    ids = {split: [example.id for example in Texts.open(folder, split)] for split in ("train", "validation", "test")}
    evaluated = draw.sample(ids["validation"], planted)
    texts = {row["id"]: row["document"] for row in rows}
    for row in rows:
        if row["id"] in evaluated:
            row["document"] = texts[draw.choice(ids["train"])]
    _write(data, rows)
    folder, report = prepare(recipe)
    shared = [set(ids[one]) & set(ids[other]) for one, other in (("train", "validation"), ("train", "test"))]
    counts = (report.splits["validation"].in_training, report.splits["test"].in_training)
    try:
        set_up_training(recipe, silent, go_on)
    except DataError as error:
        is_refused = all(repr(name) in str(error) for name in evaluated)
        return bool(planted) and is_refused and counts == (planted, 0) and not any(shared)
    return not planted and counts == (0, 0) and not any(shared)


def _write(data: Path, rows: list[dict[str, str]]) -> None:
    (data / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
