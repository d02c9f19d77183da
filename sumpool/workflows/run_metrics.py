"""What a finished run has shown: its summaries scored, an update measured alone, its journal read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from sumpool.data.sources._base import Split
from sumpool.errors import DataError
from sumpool.evaluation.scores import read_scores
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import Manifest
from sumpool.progress import Report, silent
from sumpool.recipe.schema import Recipe
from sumpool.runs.sweep_table import SCORES, Measured, read_journal
from sumpool.training.fit import JOURNAL
from sumpool.training.journal import Journal
from sumpool.workflows.evaluate import Results, evaluate_run
from sumpool.workflows.train import DryRun, dry_run

TRIED = "dry_run.json"
"""What an update of a run takes, measured once."""


def judge(
    folder: Path,
    recipe: Recipe,
    split: Split,
    *,
    overrides: Sequence[str] = (),
    report: Report = silent,
    check: Check = go_on,
) -> Measured:
    """Judge a finished run, or go on where that stopped; what is found stays in its folder.

    Args:
        folder: The run folder.
        recipe: Its recipe, with the overrides.
        split: Documents whose summaries are scored.
        overrides: Settings that the recipe in the folder does not have, such as `data.prepared=folder`.
        report: Hears how it goes.
        check: Called where the work may stop.

    Raises:
        CheckpointError: If the folder is damaged.
        DataError: If the data cannot be used.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    # 1. An update is measured alone, once.
    if not (folder / TRIED).exists():
        tried = dry_run(recipe, report=report, check=check)
        with disk_errors(folder):
            replace_file(folder / TRIED, json.dumps(asdict(tried)).encode())
    # 2. Summaries are scored, going on where that stopped.
    try:
        evaluate_run(folder, split, overrides=overrides, results=Results(resume=True), report=report, check=check)
    except DataError:  # what is there was written under other settings, which a recipe may change
        evaluate_run(folder, split, overrides=overrides, report=report, check=check)
    # 3. What the files say.
    losses, speeds, health = read_journal(Journal(folder / JOURNAL).read())
    return Measured(
        rouge=dict(_scores(folder / "evaluation" / split / "documents.jsonl")),
        loss=Manifest.read(folder).facts["validation_loss"],
        losses=losses,
        tokens_per_second=speeds,
        peak_memory=tried_before(folder).peak_memory,
        health=health,
    )


def tried_before(folder: Path) -> DryRun:
    """Give what an update of a judged run took when it was measured."""
    return DryRun(**json.loads((folder / TRIED).read_bytes()))


def _scores(path: Path) -> Iterator[tuple[str, tuple[float, ...]]]:
    for scored in read_scores(path):
        rouge = scored.systems["model"].rouge
        yield scored.id, tuple(rouge[name].f1 for name in SCORES)
