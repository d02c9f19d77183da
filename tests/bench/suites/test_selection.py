import math

import pytest
import torch

from sumpool.bench.config import SelectionConfig
from sumpool.bench.suites.selection import SELECTIONS, measure_selection
from sumpool.bench.suites.selection_rows import APPROXIMATE, FULL, GRU, FoundSelection, break_even
from sumpool.bench.systems.workload import Conditions
from sumpool.progress import Progress

BATCH, BEAMS, DIM, LENGTH, SENTENCE, GENERATE = 2, 3, 16, 240, 4, 5
SETTINGS = SelectionConfig(
    lengths=(LENGTH,),
    sentence=SENTENCE,
    sentences=(2, 6),
    generate_sentences=3,
    holds=(2, 4),
    batch=BATCH,
    beams=BEAMS,
    dim=DIM,
    heads=2,
    feed_forward=16,
    layers=2,
    generate=GENERATE,
    repeats=1,
)


def measure(precision: torch.dtype = torch.float32, **changes: object) -> tuple[FoundSelection, list[Progress]]:
    heard: list[Progress] = []
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=precision)
    return measure_selection(SETTINGS.model_copy(update=changes), conditions, heard.append), heard


@pytest.fixture(scope="module")
def found() -> FoundSelection:
    return measure()[0]


def test_every_selection_is_measured_beside_full(found: FoundSelection) -> None:
    steps = {(row.selection, row.sentences, row.independent) for row in found.steps}
    selections = {(name, sentences) for name in SELECTIONS if name != GRU for sentences in (2, 6)}
    assert steps == {(*place, far) for place in (*selections, (FULL, 0)) for far in (False, True)}
    assert [row.selection for row in found.generations] == [FULL, *SELECTIONS]
    assert all(len(row.steps) == GENERATE for row in found.generations)
    assert [row.hold for row in found.holds] == [1, 2, 4]


def test_progress_comes_to_its_end() -> None:
    _, heard = measure()
    assert [each.done for each in heard] == list(range(len(heard)))
    assert heard[-1].done == heard[-1].total


def test_bytes_are_those_of_keys_and_values(found: FoundSelection) -> None:
    words = BATCH * LENGTH * 2 * DIM * 4
    assert found.step(LENGTH, FULL, 0).moved == words
    row = found.step(LENGTH, APPROXIMATE, 2)
    assert 2 <= row.chosen <= BEAMS * 2
    sentences = BATCH * LENGTH // SENTENCE
    selecting = sentences * DIM * 4 + sentences  # keys of sentences, and which there are
    assert row.moved == 3 * round(BATCH * row.chosen) * SENTENCE * 2 * DIM * 4 + selecting


def test_half_precision_moves_half_of_the_bytes(found: FoundSelection) -> None:
    half, _ = measure(torch.bfloat16)
    assert 2 * half.step(LENGTH, FULL, 0).moved == found.step(LENGTH, FULL, 0).moved


def test_hypotheses_with_nothing_in_common_choose_more(found: FoundSelection) -> None:
    near, far = (found.step(LENGTH, APPROXIMATE, 6, independent).chosen for independent in (False, True))
    assert 6 <= near < far


def test_a_choice_that_is_held_agrees_less() -> None:
    found, _ = measure(apart=1.0)
    shares = [row.agreement for row in found.holds]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.9
    still, _ = measure(apart=0.0)
    assert [row.agreement for row in still.holds] == [1.0, 1.0, 1.0]


def test_tables_say_where_selecting_begins_to_pay(found: FoundSelection) -> None:
    near, far, holds, generations = found.tables()
    assert any("a step of approximate is faster than full: 2 sentences" in note for note in near.notes)
    assert [row[:2] for row in far.rows] == [("240", "2"), ("240", "6")]
    assert holds.rows[0][3:] == ("1.00", "100.0 %")
    assert generations.rows[0][-1] == "1.00"
    assert "approximate, gru" in generations.notes[-1]


@pytest.mark.parametrize(
    ("full", "selected", "expected"),
    [
        ((2, 4, 8), (1, 2, 3), 1000),
        ((2, 4, 8), (3, 4, 5), 2000),
        ((2, 4, 8), (3, 5, 5), 2500),
        ((2, 4, 8), (1, 5, 5), 2500),
        ((2, 4, 8), (1, 2, 9), None),
    ],
)
def test_break_even_lies_between_the_lengths_measured(
    full: tuple[int, ...], selected: tuple[int, ...], expected: float | None
) -> None:
    found = break_even((1000, 2000, 4000), full, selected)
    assert found == expected if expected is None else math.isclose(found or 0, expected)
