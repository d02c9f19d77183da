"""`sumpool bench`: a recipe, a run or nothing in, tables out."""

import gc
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import screen, table, working, wrap
from sumpool.cli.options import Changes, token_count
from sumpool.errors import RecipeError
from sumpool.io.manifest import run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sumpool.bench.results import BenchReport
    from sumpool.progress import Check, Report

CORPUS, START = "corpus", "start"
"""The benchmarks of whole processes."""
_PROCESSES = (CORPUS, START)

Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write everything as JSON.")]
Latex = Annotated[Path | None, typer.Option("--latex", metavar="FILE", help="Also write the tables for LaTeX.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the tables as CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def bench(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|RECIPE|corpus|start]",
            help="A run folder or recipe, by default the newest run; corpus; or start.",
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="The run (corpus and start, by default that of summarize).")
    ] = None,
    lengths: Annotated[list[int] | None, token_count("--length", "Source tokens; may be given often.")] = None,
    out: Out = None,
    latex: Latex = None,
    csv: Csv = None,
    peers: Annotated[bool, typer.Option("--peers", help="Measure models of other libraries too.")] = False,
    json: Json = False,
    changes: Changes = None,
) -> None:
    """Measure speed and memory of a model by length.

    Without a target, it measures the newest run, or a small built-in model: encoding, a training step and generation,
    beside the same model without pooling, and beside the speed of the machine itself.

    corpus summarises 64 RFCs in fresh processes: documents per second, time to the first summary, memory.

    start shows what a person waits for: time and memory of fresh processes by stage, from the interpreter to the end.

    Sizes and repetitions change with --set bench.batch=8, workloads with --set bench.workloads=[generate], and the time
    for all of it with --set bench.seconds=60.
    """
    from sumpool.bench.corpus import bench_corpus
    from sumpool.bench.models import bench as measure
    from sumpool.bench.start import bench_start
    from sumpool.recipe.files import find_recipe

    settings = [*(changes or ())]
    target = target and str(run_folder(target))
    if target and target not in _PROCESSES and not find_recipe(Path(target)).exists():
        raise RecipeError(f"{target} must be {CORPUS}, {START}, or a run folder or recipe that is there")
    if run and target not in _PROCESSES:
        raise RecipeError(f"a second name must follow {CORPUS} or {START} only, got {run} after {target}")
    given = {"--length": lengths, "--peers": target == START and peers, "--set": target == START and settings}
    for name, value in given.items() if target in _PROCESSES else ():
        if value:
            raise RecipeError(f"{name} must go with a model, got {target}")

    def work(report: "Report", check: "Check") -> "BenchReport":
        if target == CORPUS:
            return bench_corpus(run, settings, peers, report, check)
        if target == START:
            return bench_start(run, report, check)
        return measure(target, overrides=settings, lengths=lengths or (), peers=peers, report=report, check=check)

    show_measurements(work, out, {"--csv": csv, "--latex": latex}, as_json=json)


def show_measurements(
    work: "Callable[[Report, Check], BenchReport]",
    out: Path | None,
    exports: "Mapping[str, Path | None]",
    *,
    as_json: bool,
) -> None:
    """Measure, write the files that are asked for, and print the tables.

    Args:
        work: Measures, given functions that report progress and that raise after a signal.
        out: File of `--out`, locked for all of it.
        exports: Other files by their options.
        as_json: Whether JSON is printed instead of tables.

    Raises:
        RecipeError: If a file cannot be written, holds anything else, or another process is writing it.
    """
    from sumpool.bench.results import require_benchmark, write_report
    from sumpool.io.lock import locked_for_writing
    from sumpool.io.replaceable import require_writable

    require_benchmark(out)
    require_writable(exports)
    gc.freeze()  # what has been imported is no garbage, and each measure of memory would search it for half a second
    with locked_for_writing(out, "name another with --out") if out else nullcontext():
        with working() as shown:
            report = work(shown.report, shown.check)
        write_report(report, {"--out": out, **exports})
    with screen() as shown:
        lines: list[str] = []
        for part in report.tables():
            lines += [table(part.headings(), part.cells(), part.title, part.keys), *map(wrap, part.notes), ""]
        shown.result(report.to_json() if as_json else "\n".join(lines))
