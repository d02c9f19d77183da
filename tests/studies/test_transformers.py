from dataclasses import replace

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row
from sumpool.bench.workload import Conditions
from sumpool.errors import RecipeError
from sumpool.studies import transformers
from sumpool.studies.config import TransformersConfig
from sumpool.studies.transformers import measure_transformers, random_pair, transformers_result

SMALL = TransformersConfig(
    length=24, batch=3, beams=3, generate=12, layers=2, dim=32, heads=4, feed_forward=48, vocabulary=90, repeats=1
)


def test_both_write_the_same() -> None:
    for seed in range(2):
        pair = random_pair(SMALL, seed)
        conditions = Conditions(pair.ours.vocabulary, torch.device("cpu"), torch.float32, seed)
        found = measure_transformers(pair, SMALL, conditions)
        assert found.facts == {"same": 3, "batch": 3}
        assert [len(row.timing.seconds) for row in found.rows["systems"] if row.timing] == [1] * 4


def test_another_model_is_noticed() -> None:
    pair, other = (random_pair(SMALL, seed) for seed in (1, 2))
    conditions = Conditions(pair.ours.vocabulary, torch.device("cpu"), torch.float32)
    assert measure_transformers(replace(pair, ours=other.ours), SMALL, conditions).facts["same"] < 3


def test_both_stand_beside_each_other() -> None:
    seconds = {
        ("transformers", "encode"): (2.0,),
        ("transformers", "generate"): (6.0, 6.0),
        ("sumpool", "encode"): (2.0,),
        ("sumpool", "generate"): (2.0, 1.0, 3.0),
    }
    rows = [Row({"system": system, "work": work}, Timing(taken)) for (system, work), taken in seconds.items()]
    settings = SMALL.model_copy(update={"batch": 8, "generate": 98})
    (table,) = transformers_result(rows, 7, settings, "5").tables
    assert table.cells()[0] == ("transformers", "2.00", "1.00", "6.00", "1.00", "60.0", "1.000", "1.00")
    assert table.cells()[1] == ("sumpool", "2.00", "1.00", "2.00", "3.00", "20.0", "2.000", "2.00")
    assert table.notes[1] == "7 of 8 summaries are the same, token for token"


TINY = TransformersConfig(layers=1, dim=16, heads=2, feed_forward=16, vocabulary=60, length=12, generate=9)


def test_ours_has_the_weights_and_settings_of_theirs() -> None:
    pair = random_pair(TINY, 1)
    assert torch.equal(pair.ours.embedding.weight, pair.theirs.model.shared.weight)
    writing = pair.writing
    assert (writing.beams, writing.length_penalty, writing.early_stopping, writing.no_repeat_tokens) == (
        4,
        2.0,
        True,
        3,
    )
    assert (writing.min_length, writing.max_length, list(writing.begin_with)) == (10, 10, [0])


def test_without_transformers_there_is_no_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers, "find_spec", lambda _: None)
    with pytest.raises(RecipeError, match="study transformers must have transformers, which is not installed: pip"):
        random_pair(TINY, 1)
