"""Systems in turns on one corpus, each run a fresh process."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from sumpool.bench.corpus.peers import CorpusPeer, peer_command
from sumpool.bench.corpus.process import ProcessRun
from sumpool.bench.corpus_config import CorpusConfig
from sumpool.bench.measures.energy import NOT_SHOWN, EnergyMeter
from sumpool.bench.measures.timing import Timing
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, make_table, quotient, significant
from sumpool.progress import Progress, Report

OURS, SHIPPED = "sumpool", "sumpool, as shipped"
Run = Callable[[Sequence[str]], ProcessRun]


def our_commands(documents: Path, run: Path, config: CorpusConfig) -> dict[str, list[str]]:
    """Commands of `sumpool summarize` by the name of the row: with as much work as the peers, and as users run it."""
    command = [sys.executable, "-m", "sumpool", "summarize", str(documents), "--model", str(run), "--json"]
    settings = {
        "mode": "abstractive",
        "mbr": "false",
        "factuality": "any",
        "no_repeat_words": 0,
        "beams": config.beams,
        "min_length": config.generate,
        "max_length": config.generate,
    }
    changes = [part for name, value in settings.items() for part in ("--set", f"summarize.{name}={value}")]
    return {OURS: [*command, *changes], SHIPPED: command}


def measure_systems(
    commands: Mapping[str, Sequence[str]], config: CorpusConfig, run: Run, report: Report
) -> dict[str, list[ProcessRun]]:
    """Run every system in turns; one that fails is not repeated.

    Args:
        commands: Command of each system.
        config: Documents and repetitions.
        run: Runs a command to its end.
        report: Called with progress.
    """
    runs: dict[str, list[ProcessRun]] = {name: [] for name in commands}
    total = config.repeats * len(commands)
    for turn in range(config.repeats):
        for place, (name, command) in enumerate(commands.items()):
            report(Progress("bench", turn * len(commands) + place, total, {"system": name}))
            if not any(result.problem for result in runs[name]):
                runs[name].append(_complete(run(command), config.documents))
    report(Progress("bench", total, total))
    return runs


def peer_commands(peers: Sequence[CorpusPeer], folder: Path) -> dict[str, list[str]]:
    """Commands of the peers that can run."""
    return {peer.name: peer_command(peer.job, folder / f"{peer.name}.json") for peer in peers if peer.job}


def corpus_result(
    runs: Mapping[str, Sequence[ProcessRun]],
    labels: Mapping[str, Mapping[str, object]],
    left_out: Mapping[str, str],
    facts: Mapping[str, object],
    meter: EnergyMeter,
) -> Result:
    """Rows and table of the runs.

    Args:
        runs: Runs of each system.
        labels: Further values of the row of each system.
        left_out: Reasons of the systems that could not run.
        facts: Documents, beams and lengths, for the title and the notes.
        meter: The meter that the joules are from.
    """
    ours = _row(OURS, runs[OURS], {}, meter)["median"]
    rows = [_row(name, runs[name], labels.get(name, {}), meter) for name in runs]
    rows = [row.also({"times": quotient(row["median"], ours)}) for row in rows]
    rows += [Row({"system": name, "energy": meter.problem}, note=reason) for name, reason in left_out.items()]
    notes = [f"{row['system']} is left out: {row.note}" for row in rows if row.note]
    counts = sorted({len(row.timing.seconds) for row in rows if row.timing})
    notes.append(f"medians of {' or '.join(map(str, counts))} runs in turns; spread: slowest over fastest")
    return Result({"corpus": rows}, [make_table("corpus", rows, facts, notes=notes)])


def _row(name: str, runs: Sequence[ProcessRun], labels: Mapping[str, object], meter: EnergyMeter) -> Row:
    """One system; the reason alone if one of its runs failed."""
    problem = next((result.problem for result in runs if result.problem), "")
    if problem or not runs:
        return Row({"system": name, **labels}, note=problem or "it did not run")
    timing = Timing(tuple(result.seconds for result in runs))
    joules = [result.joules for result in runs if result.joules is not None]
    peaks = [result.memory for result in runs if result.memory is not None]
    documents = len(runs[0].rows)
    values = {
        "first": median(result.first for result in runs),
        "firsts": [result.first for result in runs],
        "documents": documents,
        "documents_per_second": documents / timing.median,
        "memory": max(peaks) if peaks else None,
        "tokens_read": sum(row["tokens_read"] for row in runs[0].rows),
        "joules": median(joules) if joules else None,
        "energy": significant(median(joules)) if joules else meter.problem or NOT_SHOWN,
    }
    return Row({"system": name, **labels, **values}, timing)


def _complete(result: ProcessRun, documents: int) -> ProcessRun:
    """The same run, or one that failed if summaries are missing."""
    if result.problem or len(result.rows) == documents:
        return result
    problem = f"it printed {len(result.rows)} summaries of {documents} documents"
    return ProcessRun((), 0.0, 0.0, None, None, problem)
