"""`sumpool bench corpus`: a corpus of RFCs, from the start of each system's process to its last summary.

Systems take turns, each run a fresh process that prints one JSON line for each summary as it is finished; a trial
chooses precision and batch of each peer.
"""

import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any

import torch

from sumpool.bench.config import BenchSettings, CorpusConfig
from sumpool.bench.measures import Timing
from sumpool.bench.peer_process import PeerJob
from sumpool.bench.peers import BUILDS, CTranslate2Peer, TransformersPeer, compute_types, library_versions
from sumpool.bench.results import UNFINISHED, BenchReport, Result, Row, make_table, quotient
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.data.config import Example
from sumpool.data.sources import RfcSourceConfig
from sumpool.errors import RecipeError
from sumpool.inference.loading import find_model
from sumpool.io.bounded import parse_json
from sumpool.progress import Check, Progress, Report, told_when_stopped
from sumpool.recipe.load import load_settings
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.hardware import choose_device, choose_encoder_precision, choose_generation_precision

TIMEOUT = 1800.0
"""Seconds after which a process is ended and its system left out."""
_POLL = 0.2
"""Seconds between two readings of memory."""
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_LONGEST_REASON = 200
_NO_SUMMARY = 3
"""Exit code of `sumpool summarize` if some lines have a reason instead of a summary."""

CTRANSLATE2 = "CTranslate2"
NAMES = (*BUILDS, CTRANSLATE2)
_SHORT = {"float32": "fp32", "bfloat16": "bf16"}
_PRECISIONS = ("float32", "bfloat16")
OURS, SHIPPED = "sumpool", "sumpool, as shipped"


def bench_corpus(run: Path | None, overrides: Sequence[str], peers: bool, report: Report, check: Check) -> BenchReport:
    """Measure documents per second, time to the first summary and memory of whole processes.

    Args:
        run: The run folder; None takes the one that summarises by default.
        overrides: Settings of the benchmark, like `bench.documents=8`.
        peers: Whether models of transformers and CTranslate2 in the sizes of the run's model take part.
        report: Called with progress.
        check: Called while processes run; when it raises, nothing is kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong.
        Interrupted: If a signal has come.
    """
    with told_when_stopped(UNFINISHED), TemporaryDirectory() as name:
        work = Path(name)
        # 1. Check settings and model, and choose the documents.
        config = load_settings("bench corpus", BenchSettings[CorpusConfig], {"bench": {}}, overrides).bench
        unknown = [name for name in config.peers if name not in NAMES]
        if unknown:
            raise RecipeError(f"bench.peers must name some of {', '.join(NAMES)}, got {', '.join(unknown)}")
        names = (config.peers or NAMES) if peers else ()
        folder, recipe = find_model(run)
        rows = choose_documents(config.documents)
        device = choose_device(recipe.summarize.device)
        conditions = Conditions(load_tokenizer(folder).vocab_size, device, torch.float32, recipe.seed)
        execute = partial(run_process, check=check)
        documents = write_documents(work / "documents.jsonl", rows)
        # 2. Write the weights of the peers, and choose precision and batch of each.
        trial = PeerJob(
            library="",
            model=str(work),
            precision="",
            device=device.type,
            threads=torch.get_num_threads(),
            tokenizer=str(folder.resolve()),
            documents=str(write_documents(work / "trial.jsonl", spread(rows, min(config.trial, len(rows))))),
            source_length=recipe.model.source_length,
            beams=config.beams,
            generate=config.generate,
            batches=tuple(sorted(set(config.batches))),
            is_trial=True,
        )
        precision = precision_of(recipe, conditions.device)
        ours: dict[str, object] = {"precision": precision, "batch": f"{recipe.summarize.batch_tokens:,} tokens"}
        # Our command with as much work as the peers, and as users run it.
        command = [sys.executable, "-m", "sumpool", "summarize", str(documents), "--model", str(folder), "--json"]
        equal = {
            "mode": "abstractive",
            "mbr": "false",
            "factuality": "any",
            "no_repeat_words": 0,
            "beams": config.beams,
            "min_length": config.generate,
            "max_length": config.generate,
        }
        changes = [part for name, value in equal.items() for part in ("--set", f"summarize.{name}={value}")]
        commands, labels = {OURS: [*command, *changes], SHIPPED: command}, {OURS: ours, SHIPPED: ours}
        left_out: dict[str, str] = {}
        for index, peer in enumerate(names):
            report(Progress("bench", index, len(names), note=f"{peer}: choosing precision and batch"))
            job = prepare_peer(peer, recipe.model, conditions, trial, config.memory * 2**30, execute)
            if isinstance(job, str):
                left_out[peer] = job
                continue
            commands[peer] = peer_command(replace(job, documents=str(documents)), work / f"{peer}.json")
            labels[peer] = {"precision": _SHORT.get(job.precision, job.precision), "batch": job.batches[0]}
        # 3. Run all systems in turns, and lay out.
        runs = measure_systems(commands, config, execute, report)
    words = [len(row.document.split()) for row in rows]
    facts = config.model_dump(include={"documents", "beams", "generate"})
    facts |= {"shortest": min(words), "longest": max(words), "source_length": recipe.model.source_length}
    result = corpus_result(runs, labels, left_out, facts)
    kept = {"bench": config.model_dump(), "model": recipe.model.model_dump(), "documents": [row.id for row in rows]}
    precision += ", the fastest of each peer" * peers
    return BenchReport(recipe.name, "corpus", device.type, precision, kept, result, library_versions() if peers else {})


def choose_documents(number: int) -> list[Example]:
    """Return RFCs at equal distances in the test split ordered by length, the shortest and the longest among them.

    They are returned in the order of their RFC numbers, so that lengths are mixed.

    Raises:
        RecipeError: If the test split has fewer.
    """
    rows = list(RfcSourceConfig().examples("test"))
    if number > len(rows):
        raise RecipeError(f"bench.documents must be at most {len(rows)}, the RFCs of the test split, got {number}")
    return sorted(spread(rows, number), key=lambda row: int(row.id.removeprefix("RFC")))


def spread(rows: list[Example], number: int) -> list[Example]:
    """Return `number` documents at equal distances in the order of their lengths."""
    ordered = sorted(rows, key=lambda row: (len(row.document.split()), row.id))
    last = max(number - 1, 1)
    return [ordered[round(index * (len(ordered) - 1) / last)] for index in range(number)]


def write_documents(path: Path, rows: list[Example]) -> Path:
    """Write documents as JSON lines for `sumpool summarize`; returns the path."""
    lines = (json.dumps({"id": row.id, "document": row.document}) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@dataclass(frozen=True)
class ProcessRun:
    """One run of a system.

    Attributes:
        rows: Objects that it printed, one for each summary.
        first: Seconds from the start of the process to its first summary.
        seconds: Seconds from the start of the process to its end.
        memory: Peak resident memory of the process in bytes; None where the system does not show it.
        problem: Why it failed; empty if it did not.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    first: float = 0.0
    seconds: float = 0.0
    memory: int | None = None
    problem: str = ""


def run_process(command: Sequence[str], check: Check, timeout: float = TIMEOUT) -> ProcessRun:
    """Run a command to its end; `check` is called while it runs, and when it raises, the process is ended."""
    rows: list[Mapping[str, Any]] = []
    first, peak = 0.0, None
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout, "it is a pipe"
        lines: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read(stream: IO[bytes]) -> None:
            for line in chain(stream, [b""]):
                lines.put((time.perf_counter(), line))

        reader = threading.Thread(target=read, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            while True:
                check()
                if time.perf_counter() - start > timeout:
                    return ProcessRun(problem=f"it took more than {timeout:,.0f} s")
                with suppress(OSError):  # there is no /proc, or the process has ended
                    peak = max(peak or 0, _peak_of_tree(process.pid))
                try:
                    moment, line = lines.get(timeout=_POLL)
                except queue.Empty:
                    continue
                if not line:
                    break
                first = first or moment - start
                rows.append(parse_json(line))
            code = process.wait()
            seconds = time.perf_counter() - start
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        if code and not (code == _NO_SUMMARY and rows):
            errors.seek(0)
            lines_of_errors = errors.read().decode(errors="replace").split("\n")
            last = next((line.strip()[:_LONGEST_REASON] for line in reversed(lines_of_errors) if line.strip()), "")
            return ProcessRun(problem=last or f"it ended with exit code {code}")
    return ProcessRun(rows, first, seconds, peak)


def _peak_of_tree(process: int) -> int:
    """Return the sum of the peak memory of a process and its descendants that run, in bytes."""
    folder = Path("/proc", str(process))
    status = _PEAK.search((folder / "status").read_text())
    children = (child for listed in folder.glob("task/*/children") for child in listed.read_text().split())
    return (1024 * int(status[1]) if status else 0) + sum(_peak_of_tree(int(child)) for child in children)


def precision_of(recipe: Recipe, device: torch.device) -> str:
    """Precisions that `sumpool summarize` takes on this machine."""
    setting = recipe.summarize.precision
    decoder = choose_generation_precision(setting, device)
    encoder = choose_encoder_precision(setting, decoder, device)
    return decoder if encoder == decoder else f"{encoder} encoder, {decoder} decoder"


Run = Callable[[Sequence[str]], ProcessRun]
"""Runs a command to its end."""


def prepare_peer(
    name: str, config: ModelConfig, conditions: Conditions, trial: PeerJob, memory: float, run: Run
) -> PeerJob | str:
    """Write random weights of a peer in the sizes of our model, and choose precision and batch by a trial.

    Args:
        name: Name of the peer.
        config: Our model.
        conditions: Vocabulary, device and seed.
        trial: The job of a trial, whose library, model and precision are filled in; `model` is the folder of weights.
        memory: Bytes that the process may use.
        run: Runs a command.

    Returns:
        The job in the fastest precision and batch, or why there is none.
    """
    library = "ctranslate2" if name == CTRANSLATE2 else "transformers"
    for needed in ("transformers", library):
        if find_spec(needed) is None:
            return f"{needed} is not installed: pip install 'sumpool[peers]'"
    long = config.model_copy(update={"target_length": max(config.target_length, trial.generate + 2)})
    jobs: dict[float, PeerJob] = {}
    problems: list[str] = []
    for kind in compute_types(conditions.device) if name == CTRANSLATE2 else _PRECISIONS:
        folder = Path(trial.model) / name
        try:
            if name == CTRANSLATE2:  # converts one file to its compute type when it loads it
                model = folder / "model"
                if not model.is_dir():
                    model.mkdir(parents=True)
                    CTranslate2Peer(long, conditions, kind, threads=1).specification().save(str(model))
            else:
                import_module("transformers").utils.logging.disable_progress_bar()
                model = folder / kind
                of_kind = replace(conditions, precision=getattr(torch, kind))
                TransformersPeer(BUILDS[name], long, of_kind).model.save_pretrained(model)
        except (ImportError, RuntimeError, ValueError) as error:  # a version of the library that does not fit
            problems.append(f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        for batch in trial.batches:  # one process each, so that its peak is its own
            job = replace(trial, library=library, model=str(model), precision=kind, batches=(batch,))
            result = run(peer_command(job, folder / "trial.json"))
            if result.problem or (result.memory or 0) > memory:
                problems.append(result.problem or f"more than {memory / 2**30:g} GiB (bench.memory)")
                break
            jobs.setdefault(result.rows[0]["seconds"], replace(job, is_trial=False))
    return jobs[min(jobs)] if jobs else problems[0]


def peer_command(job: PeerJob, path: Path) -> list[str]:
    """Write a job to a file; returns the command that does it."""
    path.write_text(json.dumps(asdict(job)))
    return [sys.executable, "-m", "sumpool.bench.peer_process", str(path)]


def measure_systems(
    commands: Mapping[str, Sequence[str]], config: CorpusConfig, run: Run, report: Report
) -> dict[str, list[ProcessRun]]:
    """Run every system in turns by its command; one that fails, or whose summaries are missing, is not repeated."""
    runs: dict[str, list[ProcessRun]] = {name: [] for name in commands}
    total = config.repeats * len(commands)
    for turn in range(config.repeats):
        for index, (name, command) in enumerate(commands.items()):
            report(Progress("bench", turn * len(commands) + index, total, {"system": name}))
            if any(result.problem for result in runs[name]):
                continue
            result = run(command)
            if not result.problem and len(result.rows) != config.documents:
                result = ProcessRun(problem=f"it printed {len(result.rows)} summaries of {config.documents} documents")
            runs[name].append(result)
    report(Progress("bench", total, total))
    return runs


def corpus_result(
    runs: Mapping[str, Sequence[ProcessRun]],
    labels: Mapping[str, Mapping[str, object]],
    left_out: Mapping[str, str],
    facts: Mapping[str, object],
) -> Result:
    """Rows, ours first, and their table; `left_out` are reasons of the systems that could not run."""
    rows: list[Row] = []
    for name, of_system in runs.items():
        problem = next((result.problem for result in of_system if result.problem), "")
        if problem or not of_system:
            rows.append(Row({"system": name, **labels[name]}, note=problem or "it did not run"))
            continue
        timing = Timing(tuple(result.seconds for result in of_system))
        peaks = [result.memory for result in of_system if result.memory is not None]
        documents = len(of_system[0].rows)
        values = {
            "first": median(result.first for result in of_system),
            "firsts": [result.first for result in of_system],
            "documents": documents,
            "documents_per_second": documents / timing.median,
            "memory": max(peaks) if peaks else None,
            "tokens_read": sum(row["tokens_read"] for row in of_system[0].rows),
        }
        rows.append(Row({"system": name, **labels[name], **values}, timing))
    rows = [row.also({"times": quotient(row["median"], rows[0]["median"])}) for row in rows]
    rows += [Row({"system": name}, note=reason) for name, reason in left_out.items()]
    notes = [f"{row['system']} is left out: {row.note}" for row in rows if row.note]
    counts = sorted({len(row.timing.seconds) for row in rows if row.timing})
    notes.append(f"medians of {' or '.join(map(str, counts))} runs in turns; spread: slowest over fastest")
    return Result({"corpus": rows}, [make_table("corpus", rows, facts, notes=notes)])
