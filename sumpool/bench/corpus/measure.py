"""Systems in turns on one corpus, each run a fresh process; a trial chooses precision and batch of each peer."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import torch

from sumpool.bench.config import CorpusConfig
from sumpool.bench.corpus.peer_process import PeerJob
from sumpool.bench.corpus.process import ProcessRun
from sumpool.bench.measures.machine import NOT_SHOWN, EnergyMeter
from sumpool.bench.measures.timing import Timing
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.transformers_peer import BUILDS, TransformersPeer
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, make_table, quotient, significant
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report

CTRANSLATE2 = "CTranslate2"
NAMES = (*BUILDS, CTRANSLATE2)
_SHORT = {"float32": "fp32", "bfloat16": "bf16"}
_PRECISIONS = ("float32", "bfloat16")
Run = Callable[[Sequence[str]], ProcessRun]
"""Runs a command to its end."""
OURS, SHIPPED = "sumpool", "sumpool, as shipped"


@dataclass(frozen=True)
class CorpusPeer:
    """A peer, ready to run; `problem` is why it cannot."""

    name: str
    job: PeerJob | None = None
    problem: str = ""

    @property
    def precision(self) -> str | None:
        """Precision that was the fastest."""
        return _SHORT.get(self.job.precision, self.job.precision) if self.job else None


def peer_names(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the peers that the settings ask for, or of all.

    Raises:
        RecipeError: If one is unknown.
    """
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(NAMES)}, got {', '.join(unknown)}")
    return tuple(chosen) or NAMES


def peer_command(job: PeerJob, path: Path) -> list[str]:
    """Write a job to a file; returns the command that does it."""
    path.write_text(json.dumps(asdict(job)))
    return [sys.executable, "-m", "sumpool.bench.corpus.peer_process", str(path)]


def prepare_peer(
    name: str, config: ModelConfig, conditions: Conditions, trial: PeerJob, memory: float, run: Run
) -> CorpusPeer:
    """Write random weights of a peer in the sizes of our model, and choose precision and batch by a trial.

    Args:
        name: Name of the peer.
        config: Our model.
        conditions: Vocabulary, device and seed.
        trial: The job of a trial, whose library, model and precision are filled in.
        memory: Bytes that the process may use.
        run: Runs a command.
    """
    library = "ctranslate2" if name == CTRANSLATE2 else "transformers"
    for needed in dict.fromkeys(("transformers", library)):
        if find_spec(needed) is None:
            return CorpusPeer(name, problem=f"{needed} is not installed: pip install 'sumpool[peers]'")
    long = config.model_copy(update={"target_length": max(config.target_length, trial.generate + 2)})
    folder = Path(trial.model) / name
    fastest: tuple[float, PeerJob] | None = None
    problems: list[str] = []
    kinds = compute_types(conditions.device) if library == "ctranslate2" else _PRECISIONS
    for kind in kinds:
        try:
            model = _write_weights(name, long, conditions, kind, folder)
        except (ImportError, RuntimeError, ValueError) as error:  # a version of the library that does not fit
            problems.append(f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        job = replace(trial, library=library, model=str(model), precision=kind)
        for batch in job.batches:  # one process each, so that its peak is its own
            one = replace(job, batches=(batch,))
            result = run(peer_command(one, folder / "trial.json"))
            if result.problem or (result.memory or 0) > memory:
                problems.append(result.problem or f"more than {memory / 2**30:g} GiB (bench.memory)")
                break
            seconds = result.rows[0]["seconds"]
            if fastest is None or seconds < fastest[0]:
                fastest = seconds, replace(one, is_trial=False)
    return CorpusPeer(name, fastest[1]) if fastest else CorpusPeer(name, problem=problems[0])


def _write_weights(name: str, config: ModelConfig, conditions: Conditions, kind: str, folder: Path) -> Path:
    """Write random weights; those of CTranslate2 are converted to its compute type when they are loaded."""
    if name == CTRANSLATE2:
        path = folder / "model"
        if not path.is_dir():
            path.mkdir(parents=True)
            CTranslate2Peer(config, conditions, kind, threads=1).specification().save(str(path))
        return path
    import_module("transformers").utils.logging.disable_progress_bar()
    path = folder / kind
    peer = TransformersPeer(BUILDS[name], config, replace(conditions, precision=getattr(torch, kind)))
    peer.model.save_pretrained(path)
    return path


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
    return ProcessRun(problem=f"it printed {len(result.rows)} summaries of {documents} documents")
