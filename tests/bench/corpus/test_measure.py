from collections.abc import Sequence

from sumpool.bench.config import CorpusConfig
from sumpool.bench.corpus.measure import measure_systems
from sumpool.bench.corpus.process import ProcessRun
from sumpool.progress import no_op


def test_systems_take_turns_and_one_that_fails_is_not_repeated() -> None:
    order: list[str] = []

    def run(command: Sequence[str]) -> ProcessRun:
        order.extend(command)
        count = 1 if command == ["short"] else 2
        return ProcessRun([{}] * count, 1.0, 0.5, None, None, "no memory" if command == ["broken"] else "")

    commands = {name: [name] for name in ("ours", "broken", "short")}
    runs = measure_systems(commands, CorpusConfig(documents=2, repeats=3, trial=2, batches=(2,)), run, no_op)
    assert order == ["ours", "broken", "short", "ours", "ours"]
    assert [result.problem for result in runs["ours"]] == [""] * 3
    assert [result.problem for result in runs["broken"]] == ["no memory"]
    assert [result.problem for result in runs["short"]] == ["it printed 1 summaries of 2 documents"]
