"""`sumpool study`: the name of a study in, tables out; without a name the list of them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sumpool.cli.bench import Csv, Json, Latex, Out, show_measurements
from sumpool.cli.console import mark_segments, screen, shows_colours, table
from sumpool.cli.options import Changes
from sumpool.errors import RecipeError
from sumpool.io.manifest import run_folder

if TYPE_CHECKING:
    from sumpool.bench.results import BenchReport
    from sumpool.progress import Check, Report

STUDIES: Final = {
    "operators": "similarity of each top-k operator to exact top-k, and its time",
    "complexity": "operations of every variant, encoder and decoder apart",
    "tables": "times of the models of Tables 2, 7, 8 and 10 of Pietruszka et al. (--set study.table=10)",
    "depth": "time of a training step by length and depth of the encoder",
    "shortening": "time and memory of a language model's training step by shortening factor",
    "attentions": "time, memory and operations of every self-attention by length, and their exponents",
    "approximation": "error of approximate attentions by features and length, with a RUN on its weights too",
    "sparsity": "how few sentences hold the attention of a RUN, and the cost of its decoder",
    "heads": "importance of the attention heads of a RUN, and its loss without the least important ones",
    "lra": "attentions trained on a task of the Long Range Arena (--set study.task=listops)",
    "language-models": "language models by boundaries (--set study.table=pareto)",
    "segments": "segments of the language model of a RUN on a DOCUMENT, with the entropy of its predictions",
}
"""Names of the studies, and what each is about."""
SEGMENTS = "segments"
"""The study that takes a run and a document."""
OF_RUN = ("approximation", "sparsity", "heads", SEGMENTS)
"""Studies that take a run."""


def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The study; without one they are listed.")
    ] = None,
    target: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", parser=run_folder, help=f"The run ({', '.join(OF_RUN)}).")
    ] = None,
    document: Annotated[str | None, typer.Argument(metavar="[DOCUMENT]", help=f"The document ({SEGMENTS}).")] = None,
    out: Out = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help=f"Also draw a picture ({SEGMENTS}).")] = None,
    latex: Latex = None,
    csv: Csv = None,
    json: Json = False,
    changes: Changes = None,
) -> None:
    """Reproduce a table or figure of a paper, or list what can be reproduced.

    Settings of a study change with --set study.repeats=1, those of its recipe or run as elsewhere.
    """
    from sumpool.recipe.load import hint

    if name is None:
        with screen() as shown:
            shown.result(table(("study", "measures"), list(STUDIES.items())))
        return
    if name not in STUDIES:
        raise RecipeError(f"the study must be one of {', '.join(STUDIES)}, got {name}{hint(name, [*STUDIES])}")
    if (name == SEGMENTS) != (document is not None):
        raise RecipeError(f"a run and a document must follow {SEGMENTS} only, got {name} {target} {document}")
    if plot and name != SEGMENTS:
        raise RecipeError(f"--plot must go with {SEGMENTS}, got {name}")
    if target and name not in OF_RUN:
        raise RecipeError(f"a run must follow {', '.join(OF_RUN)} only, got {target} after {name}")
    if target and document:
        from sumpool.studies.segments import study_segments

        with screen() as shown:
            segments = study_segments(target, document, plot, shown.report)
        sys.stdout.write(f"{mark_segments(segments, shows_colours())}\n")
        return
    from sumpool.studies.run import run_study

    def work(report: "Report", check: "Check") -> "BenchReport":
        return run_study(name, target, overrides=changes or (), report=report, check=check)

    show_measurements(work, out, {"--csv": csv, "--latex": latex}, as_json=json)
