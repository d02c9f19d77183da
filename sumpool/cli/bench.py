"""`sumpool bench`: a recipe, a run, the name of a suite or nothing in, tables out."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import MOST_TOKENS, Changes, whole_number
from sumpool.cli.text import table, wrap
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sumpool.bench.results.table import Table

SUITES = (
    *("operators", "complexity", "tables", "depth", "shortening", "selection", "transformers", "approximation"),
    "attentions",
)
OF_RUN = ("sparsity", "trainer", "generation", "corpus")
"""Benchmarks of a trained run."""
WITH_PEERS = "corpus"
"""Benchmark by name that `--peers` extends."""
TAKE_RUN = (*OF_RUN, "approximation", "scaling")
"""Benchmarks after whose name a run may stand, or a recipe (scaling)."""
TRAINING = ("lra", "language-models")
"""Benchmarks that train models of their own."""
MAP = "attention-map"
"""Picture of the attention of a run on a document."""
NAMES = (*SUITES, *OF_RUN, *TRAINING, "scaling", MAP)
SAVED = ".json"
"""Suffix of a saved benchmark."""


def bench(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE|RUN|RECIPE]",
            help=f"One of {', '.join(NAMES)}; or a run folder or recipe, by default the newest run; or a "
            "FILE.json to show again.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help=f"The run ({', '.join(OF_RUN)}, by default the newest; approximation), or the recipe (scaling).",
        ),
    ] = None,
    document: Annotated[
        str | None, typer.Argument(metavar="[DOCUMENT]", help="The document (attention-map, after the run).")
    ] = None,
    lengths: Annotated[
        list[int] | None,
        typer.Option(
            "--length",
            metavar="TOKENS",
            parser=whole_number("--length", 1, MOST_TOKENS),
            help="Source tokens; may be given often.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--table",
            metavar="2|7|8|10",
            parser=whole_number("--table", 1, 99),
            help="Which table of the paper (tables).",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write everything as JSON.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="Also draw a picture (of a model, operators, depth, shortening, selection, sparsity, approximation).",
        ),
    ] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the tables for LaTeX.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the tables as CSV.")] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Measure models of transformers and CTranslate2 too.")] = False,
    before: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="FILE.json",
            help="Also show what changed since; without a target its model is measured again.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    changes: Changes = None,
) -> None:
    """Measure a model by length, or one of the papers' benchmarks.

    Alone, it measures the newest run, or a small built-in model: encoding, a training step and generation, beside the
    same model without pooling, and beside the speed of the machine itself.

    operators pools random vectors; complexity counts operations of every variant; tables times the models
    of a table of the paper; depth varies the layers of the encoder; shortening varies the shortening factor;
    selection restricts cross-attention to some sentences; transformers generates with a BART of transformers and
    with ours made from it. All of these have random weights and documents; sparsity measures how few sentences hold
    the attention of a trained run, and trainer trains LED of transformers with its own Trainer on a run's data for
    the run's time, and puts a row of each side by side.
    lra trains attentions on a task of the Long Range Arena, such as --set bench.task=listops, and writes a table.
    language-models trains language models with several boundaries for equal times, for a table or figure of the paper,
    --set bench.study=boundaries, pareto or scaling; generation measures the speed of a language model by length.
    approximation compares attentions with what they approximate, by features and length; with a run, its weights too.
    attention-map RUN DOCUMENT draws the attention weights of every layer and head, by default to attention-map.png.
    scaling RECIPE projects time, traffic and price of its training on 8 to 1,024 devices, from one step here.
    attentions measures time and memory of every attention by length, and their exponents, beside the counted ones.
    corpus summarises 64 RFCs in fresh processes: documents per second, time to the first summary, memory, energy.

    Sizes and repetitions change with --set bench.batch=8, workloads with --set bench.workloads=[generate], and the time
    for all of it with --set bench.seconds=60.
    """
    from sumpool.bench.models.saved import compare_reports, load_saved
    from sumpool.bench.plots import draw, require_plots
    from sumpool.bench.results.table import require_writable, write_tables
    from sumpool.io.atomic import disk_errors, replace_file
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.bench import bench as measure

    if target == MAP or document:
        return _draw_map(target, run, document, plot)
    settings = [*(changes or ()), *([] if number is None else [f"bench.table={number}"])]
    _check_target(target, run)
    _check_options(target, {"--peers": peers, "--compare": before, "--length": lengths, "--set": settings})
    exports = {"--csv": csv, "--latex": latex}
    require_writable(exports)
    gc.freeze()  # what has been imported is no garbage, and each measure of memory would search it for half a second
    if plot:
        require_plots(str(target) if target in NAMES else "model", plot)
    earlier = load_saved(before) if before else None
    with _locked(out):
        if target and target.endswith(SAVED):
            report = load_saved(Path(target))
        else:
            with screen() as shown, interruptible(GRACE) as interruption:
                report = measure(
                    target or earlier,
                    run,
                    overrides=settings,
                    lengths=lengths or (),
                    peers=peers,
                    report=shown.report,
                    check=interruption.check,
                )
        if plot:
            draw(report, plot)
        write_tables(report.result.tables, exports)
        if out:
            with disk_errors(out):
                replace_file(out, f"{report.to_json()}\n".encode())
    comparison = compare_reports(earlier, report) if earlier else None
    with screen() as shown:
        if json:
            shown.result((comparison or report).to_json())
        else:
            shown.result(_lay_out([*report.tables(), *(comparison.tables() if comparison else ())]))


def _draw_map(target: str | None, run: Path | None, document: str | None, plot: Path | None) -> None:
    """Draw the attention of a run on a document.

    Raises:
        RecipeError: If run or document is missing, or follows another name.
    """
    from sumpool.workflows.attention_map import draw_attention_map

    if target != MAP or run is None or document is None:
        raise RecipeError(f"a run and a document must follow {MAP}, and it alone, got {target} {run} {document}")
    path = plot or Path(f"{MAP}.png")
    maps = draw_attention_map(run, document, path)
    with screen() as shown:
        shown.result(f"{path}: {len(maps)} layers, {maps[0].size(1):,} tokens in the first")


@contextmanager
def _locked(out: Path | None) -> Iterator[None]:
    """Check the file of `--out`, if any, and lock it for a block.

    Raises:
        RecipeError: If it has no folder to stand in or holds anything but a benchmark, or another process writes it.
    """
    from sumpool.bench.models.saved import require_benchmark
    from sumpool.io.lock import locked_for_writing

    if out is None:
        yield
        return
    if not out.parent.is_dir():
        raise RecipeError(f"--out must name a file in a folder that is there, got {out}")
    require_benchmark(out)
    with locked_for_writing(out, "name another with --out"):
        yield


def _check_target(target: str | None, run: Path | None) -> None:
    """Refuse a target that is neither a benchmark nor a file.

    Raises:
        RecipeError: If the target is unknown, or a run follows a target that takes none.
    """
    from sumpool.recipe.packaged import find_recipe
    from sumpool.recipe.problems import hint

    if target and target not in NAMES and not find_recipe(Path(target)).exists():
        raise RecipeError(
            f"{target} must be one of {', '.join(NAMES)}, or a run folder or recipe that is there{hint(target, NAMES)}"
        )
    if run and target not in TAKE_RUN:
        *names, last = TAKE_RUN
        raise RecipeError(f"a second name must follow {', '.join(names)} or {last} only, got {run} after {target}")


def _check_options(target: str | None, given: Mapping[str, object]) -> None:
    """Refuse options that would change nothing.

    Raises:
        RecipeError: If an option does not go with the target.
    """
    for name in (name for name, value in given.items() if value):
        is_corpus = target == WITH_PEERS and name == "--peers"
        if target in NAMES and name in ("--peers", "--compare") and not is_corpus:
            raise RecipeError(f"{name} must go with a model{' or corpus' * (name == '--peers')}, got {target}")
        if target and target.endswith(SAVED) and name != "--compare":
            raise RecipeError(f"{name} must go with something to measure, got {target}, which was measured before")


def _lay_out(tables: "Sequence[Table]") -> str:
    parts = (table(part.headings(), part.cells(), part.title, part.keys) for part in tables)
    return "\n".join("\n".join([text, *map(wrap, part.notes), ""]) for text, part in zip(parts, tables, strict=True))
