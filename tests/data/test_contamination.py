import subprocess
import sys

import numpy as np

from sumpool.data.contamination import RUNS, SIZE, hashed_runs, hits, sample


def text(start: int, words: int) -> list[str]:
    return [f"w{number}" for number in range(start, start + words)]


def test_the_share_of_shared_runs_is_exact_on_small_documents() -> None:
    sought = sample([text(0, 100), text(1000, 30)])
    assert len(sought) == (100 - SIZE + 1) + (30 - SIZE + 1)
    found = hits(sought, [*text(500, 7), *text(40, 33), *text(700, 5)])
    assert len(found) == 33 - SIZE + 1
    assert len(hits(sought, text(2000, 300))) == 0


def test_all_thirteen_words_and_their_order_count() -> None:
    runs = {int(hashed_runs(text(0, SIZE))[0]), int(hashed_runs(text(0, SIZE)[::-1])[0])}
    for place in range(SIZE):
        words = text(0, SIZE)
        words[place] = "other"
        runs.add(int(hashed_runs(words)[0]))
    assert len(runs) == SIZE + 2


def test_short_documents_and_empty_samples_hold_nothing() -> None:
    assert len(hashed_runs(text(0, SIZE - 1))) == 0
    assert len(hits(sample([]), text(0, 50))) == 0
    assert len(hits(sample([text(0, 50)]), [])) == 0


def test_the_sample_of_a_document_is_bounded() -> None:
    assert RUNS / 2 < len(sample([text(0, 10 * RUNS)])) <= RUNS


def test_other_processes_number_runs_the_same() -> None:
    program = (
        "from sumpool.data.contamination import hashed_runs\n"
        "print(hashed_runs(['w%d' % n for n in range(14)]).tolist())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    ).stdout
    assert numbers(printed) == hashed_runs(text(0, 14)).tolist()


def numbers(printed: str) -> list[int]:
    return [int(number) for number in printed.strip("[]\n").split(",")]


def test_runs_are_spread_over_all_bits() -> None:
    runs = hashed_runs(text(0, 5000))
    assert len(np.unique(runs)) == len(runs)
    assert len(np.unique(runs >> np.uint64(56))) == 256
