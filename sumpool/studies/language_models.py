"""`sumpool study language-models`: tables and figures of Nawrot et al. (2023) on any text.

<folder>/<text>/prepared-<n>/           vocabulary and ids, by the number of unigram subwords
<folder>/<text>/<row>-seed<n>/          run folders, which every study shares and a second call continues with
<folder>/<study>.json, .csv, .tex
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from sumpool.bench.config import split_overrides
from sumpool.bench.results import BenchReport, Column, Result, Row, Table, text_table, unique, where
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.task import Results
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.files import find_recipe
from sumpool.recipe.load import assign, load_any_recipe, make_recipe
from sumpool.runs.run_folder import evaluation_folder
from sumpool.studies.config import LanguageModelsConfig
from sumpool.studies.study import load_study, over_seeds, report_runs
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.evaluate import evaluate_language_models, load_language_model, read_windows
from sumpool.tasks.language_modeling.measures import (
    compare_language_models,
    compare_seeds,
    format_p_value,
    mean_windows,
)
from sumpool.workflows.train import train

LEVEL = 0.05
"""Level of significance of the paper."""
_RESAMPLES = 1000
PUBLISHED: Mapping[str, Mapping[str, tuple[float, float | None]]] = {
    "text8": {
        "vanilla": (1.143, 1.0),
        "fixed-2": (1.149, 2.0),
        "fixed-3": (1.155, 3.0),
        "fixed-4": (1.166, 4.0),
        "gumbel-0.2": (1.136, 4.6),
        "entropy": (1.138, 4.1),
        "unigram-10000": (1.134, 5.0),
        "whitespace": (1.133, 5.7),
        "fixed-2-last": (1.180, 2.0),
        "entropy-last": (1.151, None),
        "whitespace-last": (1.144, 5.7),
    },
    "wiki40b-en": {
        "vanilla": (1.091, 1.0),
        "fixed-2": (1.084, 2.0),
        "fixed-3": (1.093, 3.0),
        "fixed-4": (1.102, 4.0),
        "gumbel-0.2": (1.080, 4.7),
        "entropy": (1.083, 4.1),
        "unigram-10000": (1.078, 5.0),
        "whitespace": (1.077, 5.6),
    },
    "cc100-en": {
        "vanilla": (1.225, 1.0),
        "fixed-2": (1.224, 2.0),
        "fixed-3": (1.229, 3.0),
        "fixed-4": (1.240, 4.0),
        "gumbel-0.2": (1.212, 4.6),
        "entropy": (1.218, 3.8),
        "unigram-10000": (1.212, 4.8),
        "whitespace": (1.214, 5.2),
    },
    "wiki40b-fi": {
        "vanilla": (0.945, 1.0),
        "fixed-2": (0.946, 2.0),
        "fixed-3": (0.951, 3.0),
        "fixed-4": (0.961, 4.0),
        "gumbel-0.37": (0.941, 2.6),
        "entropy": (0.949, 4.1),
        "unigram-200": (0.937, 2.1),
        "whitespace": (0.955, 7.9),
    },
    "wiki40b-he": {
        "vanilla": (1.251, 1.0),
        "fixed-2": (1.249, 2.0),
        "fixed-3": (1.264, 3.0),
        "fixed-4": (1.278, 4.0),
        "gumbel-0.2": (1.257, 4.7),
        "entropy": (1.258, 3.4),
        "unigram-200": (1.248, 1.8),
        "whitespace": (1.255, 5.7),
    },
    "wiki40b-vi": {
        "vanilla": (1.065, 1.0),
        "fixed-2": (1.060, 2.0),
        "fixed-3": (1.068, 3.0),
        "fixed-4": (1.087, 4.0),
        "gumbel-0.2": (1.061, 4.3),
        "entropy": (1.072, 4.2),
        "unigram-10000": (1.058, 4.0),
        "whitespace": (1.057, 4.4),
    },
}
"""Bits per character and shortening factor in Tables 1 and 2, by text and row, after 200,000 updates of 12 layers."""
_TITLES = {
    "boundaries": "bits per character by boundaries",
    "pareto": "bits per character and shortening factor",
    "scaling": "layers of the middle block",
    "pooling": "bits per character by the state of a segment",
}
_LAST = "-last"
"""End of the names of rows whose segments have the state of their last token."""


@dataclass(frozen=True)
class StudyRow:
    """A model of a study.

    Attributes:
        name: Name of the row and, with the seed, of the folders of its runs.
        boundaries: Settings of the boundaries; none without segments.
        subwords: Unigram subwords that teach the boundaries; 0 without.
        middle: Layers of the middle block; None takes those of the recipe.
        combine: State of a segment; None takes that of the recipe.
    """

    name: str
    boundaries: Mapping[str, Any] | None = None
    subwords: int = 0
    middle: int | None = None
    combine: str | None = None

    @property
    def family(self) -> str:
        """Kind of the boundaries; `vanilla` without segments."""
        return self.boundaries["kind"] if self.boundaries else "vanilla"


def study_grid(config: LanguageModelsConfig) -> list[StudyRow]:
    """Return the rows of a study; names are the same in every study, so that studies share their runs.

    Raises:
        RecipeError: If `study.rows` names others.
    """

    def gumbel(prior: float) -> StudyRow:
        return StudyRow(f"gumbel-{prior:g}", {"kind": "gumbel", "rate": prior})

    def unigram(subwords: int) -> StudyRow:
        return StudyRow(f"unigram-{subwords}", {"kind": "unigram"}, subwords)

    vanilla = StudyRow("vanilla")
    fixed = [StudyRow(f"fixed-{size}", {"kind": "fixed", "size": size}) for size in config.fixed]
    whitespace, entropy = (StudyRow(kind, {"kind": kind}) for kind in ("whitespace", "entropy"))
    # Table 1, in the order of the paper; Figure 3, where whitespace and entropy, which have no setting, are points;
    # Figure 4, the rows of Table 1 with other middle blocks.
    rows = [vanilla, *fixed, gumbel(config.prior), entropy, unigram(config.vocabulary), whitespace]
    if config.table == "pareto":
        vocabularies, priors = (200, 500, 1000, 3000, 5000, 10_000), (0.2, 0.25, 0.3, 0.37, 0.45)
        taught = [*map(unigram, vocabularies), *map(gumbel, priors)]
        rows = [vanilla, *fixed, *taught, whitespace, entropy]
    elif config.table == "scaling":
        rows = [replace(row, name=f"{row.name}-{layers}", middle=layers) for row in rows for layers in config.middle]
    elif config.table == "pooling":
        means = [StudyRow("fixed-2", {"kind": "fixed", "size": 2}), entropy, whitespace]
        rows = [same for row in means for same in (row, replace(row, name=row.name + _LAST, combine="last"))]
    names = [row.name for row in rows]
    unknown = [name for name in config.rows if name not in names]
    if unknown:
        raise RecipeError(f"study.rows must be rows of {config.table} ({', '.join(names)}), got {unknown[0]}")
    return [row for row in rows if row.name in (config.rows or names)]


def row_settings(row: StudyRow, layers: Sequence[int], vocabulary: int) -> dict[str, Any]:
    """Return the settings of a row by path.

    Args:
        row: The row.
        layers: Layers of the recipe before, within and after the segments.
        vocabulary: Unigram subwords of the data of rows that are not taught by them, so that rows share their data.

    Raises:
        RecipeError: If the recipe has no or several blocks of segments.
    """
    if len(layers) != 3:
        raise RecipeError(f"model.layers must have three numbers, such as [2, 8, 2], got {list(layers)}")
    first, middle, last = layers
    middle = middle if row.middle is None else row.middle
    learned = row.family in ("gumbel", "entropy", "unigram")
    return {
        "model.layers": [first, middle, last] if row.boundaries else [first + middle + last],
        "model.boundaries": [dict(row.boundaries)] if row.boundaries else [],
        "train.loss_weights": {"boundaries": 1.0} if learned else {},
        "data.subwords": row.subwords or vocabulary,
        **({"model.combine": row.combine} if row.combine else {}),
    }


def study_language_models(overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Train and evaluate a language model for each row, text and seed of a study, and write its table.

    Args:
        overrides: Settings of the study, like `study.table=pareto`, and of the recipe.
        report: Called with progress.
        check: Called between updates; when it raises, a second call continues.

    Raises:
        RecipeError: If a setting is wrong, or a folder holds something else.
        DataError: If a text is missing or damaged.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    # 1. Check the recipes of all rows, before any is trained.
    of_study, of_recipe = split_overrides(overrides, ("study.",))
    config = load_study("language-models", LanguageModelsConfig, of_study).study
    path = find_recipe(config.recipe)
    base = load_any_recipe(path, of_recipe)
    if not isinstance(base, LanguageModelRecipe):
        raise RecipeError(f"{path} must be a recipe of task: language_modeling, got task: {base.task}")
    names = [file.stem for file in config.texts] or [base.name]
    if len(set(names)) < len(names):
        raise RecipeError(f"study.texts must have different names, got {', '.join(names)}")
    recipes = [
        (text, row, [_recipe(config, base, text, row, seed) for seed in config.seeds])
        for text in names
        for row in study_grid(config)
    ]
    # 2. Train and evaluate each row with each seed on each text.
    runs: list[Row] = []
    total = len(recipes) * len(config.seeds)
    for text, row, seeds in recipes:
        folders = [config.folder / text / recipe.name for recipe in seeds]
        for recipe, folder in zip(seeds, folders, strict=True):
            report(Progress("study", len(runs), total, note=f"{text}: {row.name}, seed {recipe.seed}"))
            runs.append(_run(recipe, folder, text, row, report, check))
    report(Progress("study", total, total))
    # 3. Write the tables.
    first = recipes[0][2][0]
    rows, differences = study_rows(runs), difference_rows(runs)
    note = (
        f"{first.train.steps:,} updates of each run, seeds {', '.join(map(str, config.seeds))}; windows of "
        f"{first.evaluate.window:,} tokens moved by {first.evaluate.step:,}; {first.model.dim} features"
    )
    tables = [study_table(_TITLES[config.table], rows, differences, [note])]
    if differences:
        tables.append(difference_table(differences))
    result = Result({"rows": rows, "differences": differences}, tables)
    return report_runs("language-models", config.table, config, first, result, config.folder / config.table)


def _recipe(
    config: LanguageModelsConfig, base: LanguageModelRecipe, text: str, row: StudyRow, seed: int
) -> LanguageModelRecipe:
    settings = row_settings(row, base.model.layers, config.vocabulary)
    files = {file.stem: str(file) for file in config.texts}
    if text in files:
        settings["data.source"] = {"kind": "plain", "path": files[text]}
    settings["data.prepared"] = str(config.folder / text / f"prepared-{settings['data.subwords']}")
    recipe = base.model_dump(mode="json")
    for name, value in (settings | {"seed": seed, "name": f"{row.name}-seed{seed}"}).items():
        assign(recipe, name, value)
    made = make_recipe(recipe, (), config.recipe)
    assert isinstance(made, LanguageModelRecipe), "the task is that of the base"
    return made


def _run(recipe: LanguageModelRecipe, run: Path, text: str, row: StudyRow, report: Report, check: Check) -> Row:
    """Train a run, or go on with it, and evaluate it on the test text, unless that is done.

    The row has `bpc` as an `Estimate` over windows, and the scores of each window of the text as `windows`.
    """
    train(recipe, run, report=report, check=check)
    try:
        evaluation = evaluate_language_models([run], results=Results(resume=True), report=report, check=check)
    except DataError:  # of other settings
        evaluation = evaluate_language_models([run], report=report, check=check)
    (scores,) = evaluation.reports.values()
    return Row(
        {
            "row": row.name,
            "family": row.family,
            "text": text,
            "seed": recipe.seed,
            "bpc": scores.bpc,
            "factor": scores.shortening_factor.mean if scores.shortening_factor else 1.0,
            "layers": sum(recipe.model.layers),
            "parameters": sum(part.numel() for part in load_language_model(run).model.parameters()),
            "steps": recipe.train.steps,
            "windows": read_windows(evaluation_folder(run, "test")),
        }
    )


def study_rows(runs: Sequence[Row]) -> list[Row]:
    """Return one row for each row of the study and text, with means over the seeds.

    The interval of the bits per character is Student's over seeds, of a single seed the bootstrap's over windows.
    """
    rows = []
    for text, name in dict.fromkeys((run["text"], run["row"]) for run in runs):
        seeds = where(runs, {"text": text, "row": name})
        bpc = over_seeds([run["bpc"] for run in seeds])
        same = {label: seeds[0][label] for label in ("row", "family", "text", "layers", "parameters")}
        means = {label: fmean(run[label] for run in seeds) for label in ("factor", "steps")}
        kept = ("seed", "factor", "parameters", "steps")
        about = [{"bpc": run["bpc"].mean, **{label: run[label] for label in kept}} for run in seeds]
        values = {"bpc": bpc.mean, "low": bpc.low, "high": bpc.high, "runs": about}
        rows.append(Row({**same, **means, "steps": round(means["steps"]), **values}))
    return rows


def difference_rows(runs: Sequence[Row]) -> list[Row]:
    """Compare every row with learned or linguistic segments with every row with fixed ones or none, by text.

    A row whose segments have the state of their last token is compared with that of their means.

    The t-test over seeds is the paper's; tests over windows are of the mean over the seeds on each window.
    """
    rows = []
    for text in unique(runs, "text"):
        of_text = where(runs, {"text": text})
        families = {run["row"]: run["family"] for run in of_text}
        last = [name for name in families if name.endswith(_LAST)]
        baselines = [name for name, family in families.items() if family in ("vanilla", "fixed") and name not in last]
        pairs = [
            (name, other)
            for name in families
            if name not in baselines
            for other in ({name.removesuffix(_LAST)} & families.keys() if name in last else baselines)
        ]
        for name, other in pairs:
            compared = {row: where(of_text, {"row": row}) for row in (name, other)}
            by_seed = compare_seeds(*({run["seed"]: run["bpc"].mean for run in part} for part in compared.values()))
            means = {row: mean_windows([run["windows"] for run in part]) for row, part in compared.items()}
            (by_window,) = compare_language_models(means, _RESAMPLES)
            difference = by_window.bpc.difference
            values = {
                "text": text,
                "row": name,
                "other": other,
                "difference": difference.mean,
                "low": difference.low,
                "high": difference.high,
                "p_seeds": by_seed,
                "p_windows": by_window.t_test,
                "p_bootstrap": by_window.bpc.bootstrap,
            }
            rows.append(Row(values))
    return rows


def is_better(differences: Sequence[Row], name: str, text: str) -> bool:
    """Return whether a row needs fewer bits than every baseline by a significant difference.

    The test is over seeds, or over windows where there is one seed only.
    """
    compared = where(differences, {"row": name, "text": text})
    p_values = [row["p_windows"] if row["p_seeds"] is None else row["p_seeds"] for row in compared]
    return bool(compared) and all(row["difference"] < 0 for row in compared) and max(p_values) < LEVEL


def study_table(title: str, rows: Sequence[Row], differences: Sequence[Row], notes: Sequence[str]) -> Table:
    """Lay out bits per character and shortening factor by row and text, as in Table 1 of the paper."""
    texts = unique(rows, "text")
    columns = [Column("", "row")]
    for text in texts:
        columns += [
            Column(f"{text} BPC", f"bpc {text}", ".4f"),
            Column("±", f"margin {text}", ".4f"),
            Column("better", f"better {text}"),
            Column("SF", f"factor {text}", ".2f"),
        ]
    name_of_paper = texts[0] if texts[0] in PUBLISHED else "text8"
    published = PUBLISHED[name_of_paper]
    if any(row["row"] in published for row in rows):
        columns += [Column(f"paper, {name_of_paper}", "paper", ".3f"), Column("SF", "paper_factor", ".1f")]
    columns += [Column("parameters", "parameters", ","), Column("updates", "steps", ",")]
    lines = []
    for name in unique(rows, "row"):
        of_row = where(rows, {"row": name})
        values: dict[str, Any] = {"row": name, "parameters": of_row[0]["parameters"]}
        values["steps"] = round(fmean(row["steps"] for row in of_row))
        values["paper"], values["paper_factor"] = published.get(name, (None, None))
        for row in of_row:
            text = row["text"]
            values |= {f"bpc {text}": row["bpc"], f"margin {text}": (row["high"] - row["low"]) / 2}
            values |= {f"factor {text}": row["factor"]}
            values |= {f"better {text}": "*" if is_better(differences, name, text) else ""}
        lines.append(Row(values))
    fixed = (
        "±: half of the 95 % interval, Student's over seeds, or the bootstrap's over windows for one seed; "
        "SF: shortening factor, tokens per boundary",
        f"*: fewer bits than without segments and with every fixed length, paired t-test, p < {LEVEL:g}",
    )
    return Table(title, columns, lines, [*fixed, *notes])


def difference_table(rows: Sequence[Row]) -> Table:
    """Lay out the differences and their tests."""
    lines = [
        (
            row["text"],
            f"{row['row']} - {row['other']}",
            f"{row['difference']:+.4f}",
            f"{row['low']:+.4f} to {row['high']:+.4f}",
            *(format_p_value(row[name]) for name in ("p_seeds", "p_windows", "p_bootstrap")),
        )
        for row in rows
    ]
    headings = ("text", "rows", "BPC", "95 % interval", "t-test, seeds", "t-test, windows", "bootstrap, windows")
    return text_table("differences in bits per character", headings, lines)
