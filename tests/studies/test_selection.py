import math

import pytest
import torch

from sumpool.bench.results import Result, Row, unique, where
from sumpool.bench.workload import Conditions
from sumpool.progress import Progress
from sumpool.studies.config import SelectionConfig
from sumpool.studies.selection import APPROXIMATE, FULL, GRU, SELECTIONS, break_even, measure_selection

BATCH, BEAMS, DIM, LENGTH, SENTENCE, GENERATE = 2, 3, 16, 240, 4, 5
SETTINGS = SelectionConfig(
    lengths=(LENGTH,),
    sentence=SENTENCE,
    sentences=(2, 6),
    generate_sentences=3,
    batch=BATCH,
    beams=BEAMS,
    dim=DIM,
    heads=2,
    feed_forward=16,
    layers=2,
    generate=GENERATE,
    repeats=1,
)


def measure(precision: torch.dtype = torch.float32, **changes: object) -> tuple[Result, list[Progress]]:
    heard: list[Progress] = []
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=precision)
    return measure_selection(SETTINGS.model_copy(update=changes), conditions, heard.append), heard


def step(found: Result, selection: str, sentences: int, independent: bool = False) -> Row:
    labels = {"selection": selection, "sentences": sentences, "independent": independent}
    (row,) = where(found.rows["steps"], labels)
    return row


@pytest.fixture(scope="module")
def found() -> Result:
    found, heard = measure()
    assert [each.done for each in heard] == list(range(len(heard)))
    assert heard[-1].done == heard[-1].total
    return found


def test_every_selection_is_measured_beside_full(found: Result) -> None:
    steps = {(row["selection"], row["sentences"], row["independent"]) for row in found.rows["steps"]}
    selections = {(name, sentences) for name in SELECTIONS if name != GRU for sentences in (2, 6)}
    assert steps == {(*place, far) for place in (*selections, (FULL, 0)) for far in (False, True)}
    assert unique(found.rows["generations"], "selection") == [FULL, *SELECTIONS]
    assert all(len(row["step_seconds"]) == GENERATE for row in found.rows["generations"])


def test_bytes_are_those_of_keys_and_values(found: Result) -> None:
    words = BATCH * LENGTH * 2 * DIM * 4
    assert step(found, FULL, 0)["bytes"] == words
    row = step(found, APPROXIMATE, 2)
    assert 2 <= row["selected"] <= BEAMS * 2
    sentences = BATCH * LENGTH // SENTENCE
    selecting = sentences * DIM * 4 + sentences  # keys of sentences, and which there are
    assert row["bytes"] == 3 * round(BATCH * row["selected"]) * SENTENCE * 2 * DIM * 4 + selecting


def test_half_precision_moves_half_of_the_bytes(found: Result) -> None:
    half, _ = measure(torch.bfloat16)
    assert 2 * step(half, FULL, 0)["bytes"] == step(found, FULL, 0)["bytes"]


def test_hypotheses_that_are_independent_select_more(found: Result) -> None:
    near, far = (step(found, APPROXIMATE, 6, independent)["selected"] for independent in (False, True))
    assert 6 <= near < far


def test_tables_say_where_selecting_begins_to_pay(found: Result) -> None:
    near, far, generations = found.tables
    assert any("a step of approximate is faster than full: 2 sentences" in note for note in near.notes)
    assert [cells[:2] for cells in far.cells()] == [("240", "2"), ("240", "6")]
    assert generations.cells()[0][-1] == "1.00"
    assert "approximate, gru" in generations.notes[-1]


def test_break_even_lies_between_the_lengths_measured() -> None:
    for full, selected, expected in (
        ((2, 4, 8), (1, 2, 3), 1000),
        ((2, 4, 8), (3, 4, 5), 2000),
        ((2, 4, 8), (3, 5, 5), 2500),
        ((2, 4, 8), (1, 5, 5), 2500),
        ((2, 4, 8), (1, 2, 9), None),
    ):
        found = break_even((1000, 2000, 4000), full, selected)
        assert found == expected if expected is None else math.isclose(found or 0, expected)
