"""`sumpool bench start`: what a person waits for, from the start of a process to its end, by stage.

Commands take turns, each run a fresh process of `stages.py`.
"""

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from statistics import median
from tempfile import TemporaryDirectory

from sumpool.bench import stages
from sumpool.bench.corpus import precision_of, run_process
from sumpool.bench.measures import Timing
from sumpool.bench.results import UNFINISHED, BenchReport, Result, Row, make_table
from sumpool.data.sources import RfcSourceConfig
from sumpool.errors import ResourceError
from sumpool.inference.loading import find_model
from sumpool.progress import Check, Progress, Report, told_when_stopped
from sumpool.training.hardware import choose_device


def bench_start(run: Path | None, report: Report, check: Check, words: int = 10_000, repeats: int = 5) -> BenchReport:
    """Measure the import, the help, and summaries with and without the model.

    Args:
        run: The run folder; None takes the one that summarises by default.
        report: Called with progress.
        check: Called while processes run; when it raises, nothing is kept.
        words: Words of each document.
        repeats: Runs of each command.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        ResourceError: If a command fails.
        Interrupted: If a signal has come.
    """
    folder, recipe = find_model(run)
    with told_when_stopped(UNFINISHED), TemporaryDirectory() as name:
        rfcs, other = Path(name, "rfcs.txt"), Path(name, "other.txt")
        rfcs.write_text(joined((row.document for row in RfcSourceConfig().examples("test")), words), "utf-8")
        other.write_text(joined(topics.values(), words), "utf-8")
        summarize = ("summarize", "--model", str(folder))
        commands = {
            "import sumpool": (),
            "--help": ("--help",),
            "summarize --fast, RFCs": (*summarize, "--fast", str(rfcs)),
            "summarize, other text": (*summarize, str(other)),
            "summarize, RFCs": (*summarize, str(rfcs)),
        }
        runs = []
        for turn in range(repeats):
            report(Progress("bench", turn, repeats))
            runs.append([measure_stages(arguments, check) for arguments in commands.values()])
    rows = []
    for command, *of_command in zip(commands, *runs, strict=True):
        for stage in of_command[0]:
            seconds, processor, memory = zip(*(run[stage] for run in of_command), strict=True)
            medians = {"processor": median(processor), "memory": median(memory) or None}
            rows.append(Row({"command": command, "stage": stage, **medians}, Timing(seconds)))
    table = make_table("start", rows, {"words": words, "repeats": repeats})
    device = choose_device(recipe.summarize.device)
    kept, result = {"bench": {"words": words, "repeats": repeats}}, Result({"start": rows}, [table])
    return BenchReport(recipe.name, "start", device.type, precision_of(recipe, device), kept, result)


def joined(texts: Iterable[str], words: int) -> str:
    """Join texts up to a number of words."""
    lines: list[str] = []
    for line in (line for text in texts for line in text.splitlines()):
        if words <= 0:
            break
        lines.append(line)
        words -= len(line.split())
    return "\n".join(lines)


def measure_stages(arguments: Sequence[str], check: Check) -> dict[str, list[float]]:
    """Run a command of sumpool in a new process; returns what `stages.py` prints, the rest as "end", and "all".

    Raises:
        ResourceError: If it fails.
    """
    import resource  # as Windows has none

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, stages.__file__, str(time.perf_counter()), *arguments]
    result = run_process(command, check)
    if result.problem:
        raise ResourceError(f"sumpool {' '.join(arguments)} must end well, got: {result.problem}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, processor, memory = map(list, zip(*result.rows[0].values(), strict=True))
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    end = [result.seconds - sum(seconds), used - sum(processor), max(memory)]
    return {**result.rows[0], "end": end, "all": [result.seconds, used, max(memory)]}
