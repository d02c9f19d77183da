"""What all studies share: their settings, the tables of `tables.toml`, and reports of those that train."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Generic, Literal

from pydantic import Field

from sumpool.bench import results
from sumpool.bench.results import BenchReport, Result, write_report
from sumpool.bench.workload import NAMES
from sumpool.evaluation.statistics import Estimate
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.load import Section, load_settings
from sumpool.recipe.schema import BaseRecipe
from sumpool.settings import Settings
from sumpool.training.hardware import choose_device, choose_precision

make_table = partial(results.make_table, package=__package__)
"""`make_table` of the tables of studies."""


@dataclass
class Steps:
    """Progress of a study; calling it begins a step, or stops where `check` raises.

    Attributes:
        report: Receives progress.
        check: Called before each step; may raise to stop.
        total: Number of steps, which the study sets when it begins.
        done: Steps that have begun.
    """

    report: Report = no_op
    check: Check = no_op
    total: int = 0
    done: int = 0

    def __call__(self, **metrics: str) -> None:
        """Begin a step; `metrics` say of what."""
        self.check()
        self.report(Progress("bench", self.done, self.total, metrics))
        self.done += 1


class Hardware(Settings):
    """Device and precision, as in a recipe."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the models run; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products; auto takes bf16 where it is fast."""


class StudySettings(Settings, Generic[Section]):
    """Everything that a study depends on; where it has a recipe, device, precision and seed are those of the recipe."""

    study: Section
    """Settings of the study."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    train: Hardware = Hardware()
    """Device and precision."""


def load_study(name: str, section: type[Section], overrides: Sequence[str] = ()) -> StudySettings[Section]:
    """Validate the settings of a study.

    Raises:
        RecipeError: If a setting is wrong; names all problems.
    """
    return load_settings(f"study {name}", StudySettings[section], {"study": {}}, overrides)  # type: ignore[valid-type]


_T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5th percentiles of Student's t for 1 to 9 degrees of freedom."""


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean over seeds with its 95 % interval by Student's t; of one seed, its own interval over rows."""
    if len(estimates) == 1:
        return estimates[0]
    means = [estimate.mean for estimate in estimates]
    quantile = _T_QUANTILES[len(means) - 2] if len(means) - 2 < len(_T_QUANTILES) else 1.96
    margin = quantile * stdev(means) / len(means) ** 0.5
    return Estimate(fmean(means), fmean(means) - margin, fmean(means) + margin)


def report_runs(name: str, title: str, study: Settings, recipe: BaseRecipe, result: Result, path: Path) -> BenchReport:
    """Make the report of a study that trains, and write it as JSON, CSV and LaTeX; the path has no suffix."""
    device = choose_device(recipe.train.device)
    precision = NAMES[choose_precision(recipe.train.precision, device)]
    settings = {"study": study.model_dump(mode="json"), "recipe": recipe.model_dump(mode="json")}
    report = BenchReport(title, name, device.type, precision, settings, result)
    suffixes = {"--out": ".json", "--csv": ".csv", "--latex": ".tex"}
    write_report(report, {option: path.with_name(path.name + suffix) for option, suffix in suffixes.items()})
    return report
