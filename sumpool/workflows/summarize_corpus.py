"""`sumpool summarize --ray`: a corpus in, a folder with a file of rows and their summaries per input file out.

Ray Data streams groups of documents from readers to actors that hold the model, and their summaries to this process, in
the order of the corpus. Requires the extra `ray`.
"""

import hashlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import chain, groupby, islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

from sumpool.data.processes import ordered_map
from sumpool.documents.corpus_files import Fields, encode_rows, list_files, read_rows, row_kind
from sumpool.documents.document import Document, ReadOptions
from sumpool.errors import DataError, RecipeError, ResourceError, SumpoolError, first_line
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import parse_json
from sumpool.io.json_lines import Identity, ResumableFile, read_records
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import run_name
from sumpool.io.replaceable import begin_folder, other_content
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.workflows.summarize import identity

JOURNAL: Final = "files.jsonl"
LOG: Final = "ray.log"
"""Name of the file with what Ray prints, such as why a worker died."""
GROUP_DOCUMENTS: Final = 16
"""Documents that a worker takes at once, and that are lost if they kill it `MAX_DEATHS` times."""
MAX_DEATHS: Final = 5
_MAX_READERS: Final = 4096
"""Tasks that read the files; a task of a larger corpus reads several."""
_ADVICE: Final = "go on with --resume, with fewer --jobs if memory ran out"
_ENVIRONMENT: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing is sent over the network but between the machines of the cluster."""


@dataclass(frozen=True)
class CorpusJob:
    """Corpus, model and destination.

    Attributes:
        names: Files, folders, and their URIs in object stores.
        model: The run folder, under the same path on all machines.
        overrides: Settings to change, each like `summarize.beams=1`.
        options: Options of reading.
        folder: Folder of the summaries.
        evidence: Whether summaries have evidence.
    """

    names: Sequence[str]
    model: Path
    overrides: Sequence[str]
    options: ReadOptions
    folder: Path
    evidence: bool = False


class FileResult(NamedTuple):
    """Result of an input file.

    Attributes:
        input: Name of the input file.
        file: Name of its file of summaries.
        documents: Number of documents.
        failed: Number of documents without a summary.
        failures: Ids of the first of those.
        lost: Number of documents that workers died or failed with.
    """

    input: str
    file: str
    documents: int
    failed: int
    failures: list[str]
    lost: int = 0


def summarize_corpus(
    job: CorpusJob,
    *,
    address: str,
    workers: int | None = None,
    resume: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> list[FileResult]:
    """Summarise a corpus on a Ray cluster.

    Args:
        job: Corpus, model, settings, and the folder that is written.
        address: "local", or the address of a cluster: "auto" or "host:port".
        workers: Processes that summarise; None takes one per GPU, or per core if there are no GPUs.
        resume: Go on with an existing folder; input files that are finished are passed over, but those with documents
            that workers died or failed with.
        report: Called with progress.
        check: Called while waiting for summaries.

    Returns:
        Results of all input files, in the order of the corpus.

    Raises:
        CheckpointError: If the model is damaged.
        RecipeError: If a setting is wrong, Ray is not installed, or the folder holds other files.
        DataError: If the corpus cannot be listed, or has changed since; or if files had to be given up.
        ResourceError: If the folder cannot be written, or the cluster cannot be reached.
    """
    if find_spec("ray") is None:
        raise RecipeError("--ray must have Ray, which is not installed: pip install 'sumpool[ray]'")
    report(Progress("summarize", note=f"model: {run_name(job.model)}"))
    # 1. List the files of the corpus.
    notice = lambda text: report(Progress("summarize", note=text))  # noqa: E731
    files = [file for name in job.names for file in list_files(name, job.options, notice)]
    sizes = {file: Path(file).stat().st_size for file in files if Path(file).is_file()}
    settings = identity(RunFiles.open(job.model, job.overrides))
    settings |= {
        "evidence": str(job.evidence),
        "corpus": hashlib.sha256(json.dumps([files, sizes]).encode()).hexdigest(),
    }
    # 2. Summarise those that are not finished; each is in the journal once its file of summaries is complete.
    with ExitStack() as stack:
        journal, finished = _open_journal(job.folder, settings, stack, resume=resume)
        done = sum(result.documents for result in finished.values())
        waiting = [(number, name) for number, name in enumerate(files) if _name(number, name) not in finished]
        start = partial(_start, waiting, job, address, workers, Path.cwd())
        groups = stack.enter_context(closing(_groups(start, job.folder / LOG, done, report, check)))
        for number, of_file in groupby(groups if waiting else (), key=lambda group: group.file):
            rows, is_complete = collect_rows(files[number], of_file, job)
            if is_complete:  # the file of the rows is complete once it has its name
                path = job.folder / _name(number, files[number])
                with disk_errors(path, advice="go on with --resume"):
                    replace_file(path, encode_rows(files[number], [(row.fields, row.summary) for row in rows]))
                failures = [row.document.id for row in rows if row.summary["reason"]]
                lost = sum(row.is_lost for row in rows)
                result = FileResult(files[number], path.name, len(rows), len(failures), failures[:10], lost)
                journal.append(json.dumps(result._asdict(), ensure_ascii=False))
                finished[result.file] = result
    results = [finished[name] for name in map(_name, range(len(files)), files) if name in finished]
    if len(results) < len(files):
        raise DataError(
            f"{job.folder} must have the summaries of {len(files):,} files, got {len(results):,}: the others were "
            f"given up; {job.folder / LOG} has why; {_ADVICE}"
        )
    return results


class Row(NamedTuple):
    """Document of a file with its columns, and later those of its summary; lost if workers died or failed with it."""

    document: Document
    fields: Fields
    summary: Fields
    is_lost: bool = False


@dataclass(frozen=True)
class Group:
    """Consecutive rows of a file; the one after the last has none, and `is_last`. An error stops the command.

    Opaque to Ray, which would make columns of its own of tuples and dictionaries.
    """

    file: int
    start: int = 0
    rows: Sequence[Row] = ()
    is_last: bool = False
    error: Exception | None = None


def _groups(
    start: Callable[[], Callable[[None], Group | str | None]], log: Path, done: int, report: Report, check: Check
) -> Generator[Group]:
    """Yield the summarised groups in the order of the corpus; those that kill their workers are left out.

    Ray runs in a process of its own, which it ends without a message when it is left while it works.
    """
    with closing(ordered_map(start, repeat(None), 1, check)) as answers:
        try:
            for answer in answers:
                if answer is None:
                    return
                if isinstance(answer, str):
                    report(Progress("summarize", note=answer))
                elif answer.error:
                    raise answer.error
                else:
                    yield answer
                    done += len(answer.rows)
                    report(Progress("summarize", done))
        except ResourceError as error:
            if not isinstance(error.__cause__, BrokenProcessPool):
                raise
            raise ResourceError(
                f"Ray must work until all files are done, but it ended; {log} has why; go on with --resume"
            ) from error


def _start(
    files: Sequence[tuple[int, str]], job: CorpusJob, address: str, workers: int | None, directory: Path
) -> Callable[[None], Group | str | None]:
    """Connect to the cluster and return the function that waits for the next group, or a note; None after the last."""
    _connect(address, job.folder / LOG)
    import ray
    from ray import data

    total = ray.cluster_resources()
    gpus, all_cores = int(total.get("GPU", 0)), int(total.get("CPU", 1))
    workers = workers or gpus or all_cores
    largest = max(int(node["Resources"].get("CPU", 1)) for node in ray.nodes() if node["Alive"])
    cores = max(1, min(all_cores // workers, largest))
    has_gpu = workers <= gpus
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1
    context.target_max_block_size = 1  # a block for each group, so that workers share a file, and a kill loses one
    context.execution_options.preserve_order = True
    items = [{"number": number, "name": name} for number, name in files]
    results = (
        data.from_items(items, override_num_blocks=min(len(items), _MAX_READERS))
        # readers take no cores, all of which the actors have
        .flat_map(partial(_read_groups, job.options, directory), num_cpus=0, compute=data.TaskPoolStrategy(workers))
        .map_batches(
            Summarizer,
            batch_size=1,
            fn_constructor_args=(job, directory, cores),
            compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
            num_cpus=cores,
            num_gpus=1 if has_gpu else None,
            max_restarts=-1,
            max_task_retries=MAX_DEATHS - 1,
        )
    )
    gpu = ", and a GPU" if has_gpu else ""
    note = f"files to summarise: {len(files):,}; workers: {workers:,}, cores of each: {cores:,}{gpu}"
    batches = results.iter_batches(batch_size=None, prefetch_batches=0)  # each group as soon as it is done
    answers: Iterator[Group | str] = chain([note], (group for batch in batches for group in batch["group"]))
    return lambda _: next(answers, None)


def _connect(address: str, log: Path) -> None:
    """Connect this process to a cluster until it ends; Ray may end it at any time, and prints to the log."""
    with disk_errors(log), log.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    if sys.platform != "win32":  # the command decides on Ctrl-C; Ray ends its processes by SIGTERM
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    os.environ |= _ENVIRONMENT | os.environ
    import ray

    local = {"include_dashboard": False, "object_store_memory": 256 * 2**20}
    host, colon, port = address.rpartition(":")
    try:
        if colon and port.isdecimal():  # Ray would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address, log_to_driver=False, **(local if address == "local" else {}))
    except (RuntimeError, ValueError, OverflowError, OSError) as error:
        raise ResourceError(
            f"--ray must be local or the address of a cluster, got {address!r}: {first_line(error)}; "
            f"{log} may have more"
        ) from error


def _enter(directory: Path) -> None:
    """Go to the directory of the command, in which relative names of files begin."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise ResourceError(f"{directory} must be a folder on all machines of the cluster, got: {error}") from error


def _read_groups(options: ReadOptions, directory: Path, item: dict[str, Any]) -> Iterator[dict[str, Group]]:
    """Yield the groups of a file, in memory for one."""
    number, start = item["number"], 0
    _enter(directory)
    rows = read_rows(item["name"], options)
    while taken := [Row(document, fields, {}) for document, fields in islice(rows, GROUP_DOCUMENTS)]:
        yield {"group": Group(number, start, taken)}
        start += len(taken)
    yield {"group": Group(number, start, is_last=True)}


@dataclass(eq=False)
class Summarizer:
    """Actor with a model of its own, which the first group opens, as errors of that are answers."""

    job: CorpusJob
    directory: Path
    cores: int

    @cached_property
    def _pipeline(self) -> Pipeline:
        _enter(self.directory)
        run = RunFiles.open(self.job.model, self.job.overrides)
        if not run.config.fast:
            import torch  # here, as summaries without the model do not need it

            torch.set_num_threads(self.cores)
        return Pipeline.open(run)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Group]]:
        """Summarise groups."""
        answers = []
        for group in batch["group"]:
            try:
                answers.append(replace(group, rows=self._summarize(group.rows)))
            except Exception as error:
                answers.append(Group(group.file, error=error))
        return {"group": answers}

    def _summarize(self, rows: Sequence[Row]) -> list[Row]:
        """Add the columns of the summaries; a document that cannot be summarised has a reason."""
        documents, pipeline = [row.document for row in rows], self._pipeline
        try:
            summaries = list(pipeline.summarize(documents, evidence="sources" if self.job.evidence else None))
        except SumpoolError:
            raise
        except Exception as error:
            if len(rows) > 1:
                return [done for row in rows for done in self._summarize([row])]
            reason = f"{documents[0].id} must be summarised, got {type(error).__name__}: {first_line(error)}"
            return [_without_summary(documents[0].id, rows[0].fields, reason, self.job)]
        return [_row(row.fields, summary, self.job) for row, summary in zip(rows, summaries, strict=True)]


def _row(fields: Fields, summary: Summary, job: CorpusJob) -> Row:
    """Return a row with the columns of its summary, which depend on model, settings and document alone."""
    columns = {"summary": summary.text, "mode": summary.mode, "tokens_read": summary.tokens_read}
    columns |= {"tokens_total": summary.tokens_total, "reason": summary.reason}
    if job.evidence:
        columns["evidence"] = [entry.entry() for entry in summary.evidence or ()]
    return Row(Document(summary.id, ""), fields, columns)  # the text is not needed any more


def _without_summary(id: str, fields: Fields, reason: str, job: CorpusJob) -> Row:
    return _row(fields, Summary(id, "", None, 0, 0, 0.0, reason), job)._replace(is_lost=True)


def collect_rows(name: str, groups: Iterable[Group], job: CorpusJob) -> tuple[list[Row], bool]:
    """Collect the rows of a file, and return whether they are all; those that were given up have the reason."""
    rows: list[Row] = []
    is_complete = False
    for group in groups:
        for id in (f"{name}:{number}" for number in range(len(rows) + 1, group.start + 1)):
            reason = f"{id} must be summarised, but {MAX_DEATHS} workers died; {job.folder / LOG} has why; {_ADVICE}"
            rows.append(_without_summary(id, {"id": id}, reason, job))
        rows += group.rows
        is_complete = group.is_last
    return rows, is_complete


def _name(number: int, name: str) -> str:
    """Return the name of the file of the summaries of an input file."""
    return f"part-{number:05d}.{'parquet' if row_kind(name) == 'parquet' else 'jsonl'}"


def _open_journal(
    folder: Path, settings: Mapping[str, str], stack: ExitStack, *, resume: bool
) -> tuple[ResumableFile, dict[str, FileResult]]:
    """Open the folder of the summaries for one process, and its journal of the input files that are finished.

    Returns the results in it by name, too, without those with lost documents, which are tried again.
    """
    path, advice = folder / JOURNAL, "name another folder"
    stack.enter_context(locked_for_writing(folder, advice))
    reason = other_content(folder, "corpus")
    if reason:
        raise RecipeError(f"{folder} must be new, empty or the summaries of a corpus, got {reason}; {advice}")
    if not resume and path.is_file() and path.stat().st_size:
        raise RecipeError(f"{folder} must not exist yet; add --resume to go on with it, or {advice}")
    with disk_errors(folder):
        begin_folder(folder, "corpus")
    described = Identity(folder / f"{JOURNAL}.identity", settings, advice)
    journal = ResumableFile(path, resume=resume, identity=described, advice="go on with --resume")
    stack.enter_context(journal)
    records = read_records(path, lambda line: FileResult(**parse_json(line)), "a file in JSON", advice)
    results = {result.file: result for result in records}  # the last one of a file
    return journal, {name: result for name, result in results.items() if not result.lost}
