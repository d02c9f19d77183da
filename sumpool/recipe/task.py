"""Tasks that a model is trained for; `find_task` is the one place that looks a task up by its name.

A task is a package `sumpool.tasks.NAME` whose module `task` defines `TASK`. It says how examples are read and batched,
which model is built, what is measured beside the loss, and what its run folders and evaluations hold. Training,
checkpoints, run folders and commands know no task but through this class.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from torch import nn

from sumpool.data.prepared_folder import find_or_prepare
from sumpool.progress import Check, Report, no_op
from sumpool.recipe.schema import DEFAULT as DEFAULT
from sumpool.recipe.schema import BaseRecipe, RecipeOf
from sumpool.settings import kinds

if TYPE_CHECKING:
    from sumpool.data.batches import TrainingData
    from sumpool.data.report import PreparedReport
    from sumpool.evaluation.report import Evaluation
    from sumpool.runs.training_report import Generator
    from sumpool.runs.training_setup import TrainingSetup
    from sumpool.text.tokenizer import Tokenizer


class Task(ABC, Generic[RecipeOf]):
    """Task that a model is trained for.

    Attributes:
        recipe: Schema of its recipes.
        report: Class of the report of prepared data, which a run folder has too.
        kind: What its models are called.
        advice: What to do without a model of the task.
        use: Arguments of the command that uses a trained model, for the run folder `{}`.
        files: Files of prepared data that a run folder has, beside tokenizer and report.
        title: What a model card calls a model.
        unit: What the validation loss is the mean of.
        limitations: What a model is not for, in Markdown.
        compares_runs: Whether several runs can be evaluated and compared.
        evaluate_options: Options of `sumpool evaluate` beside those of all tasks; None allows all.
    """

    recipe: ClassVar[type[BaseRecipe]]
    report: ClassVar["type[PreparedReport]"]
    kind: ClassVar[str]
    advice: ClassVar[str]
    use: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    unit: ClassVar[str]
    limitations: ClassVar[str]
    compares_runs: ClassVar[bool] = False
    evaluate_options: ClassVar[tuple[str, ...] | None] = None

    def prepare(
        self, recipe: RecipeOf, *, skip_bad_rows: bool = False, report: Report = no_op, check: Check = no_op
    ) -> "tuple[Path, PreparedReport]":
        """Return the folder of the data of a recipe, prepared unless it has been, and its report.

        Arguments and errors are those of `find_or_prepare`.
        """
        folder = find_or_prepare(
            recipe.data, recipe.prepared_folder, skip_bad_rows=skip_bad_rows, report=report, check=check
        )
        return folder, self.report.load(folder)

    @abstractmethod
    def open_data(self, recipe: RecipeOf, prepared: Path, tokenizer: "Tokenizer") -> "TrainingData":
        """Open the examples of training and validation in a prepared folder, and say how they are batched."""

    @abstractmethod
    def build_model(self, recipe: RecipeOf, prepared: Path, tokenizer: "Tokenizer") -> nn.Module:
        """Build the model of a recipe for prepared data, with random weights."""

    def warnings(self, recipe: RecipeOf, setup: "TrainingSetup") -> Iterator[str]:
        """Yield warnings of settings that waste data or select by noise.

        Raises:
            DataError: If the data must not be trained on.
        """
        del recipe, setup
        yield from ()

    @abstractmethod
    def sizes(self, recipe: RecipeOf) -> dict[str, str]:
        """Return what a model reads and writes, as rows of its card."""

    @property
    @abstractmethod
    def evaluate(self) -> "Callable[..., Evaluation]":
        """Function that evaluates a sequence of runs, by default the newest one of the task, on a split of their data.

        It has the keywords `overrides`, `limit`, `results`, `report` and `check`.
        """

    def generator(self, recipe: RecipeOf, setup: "TrainingSetup", check: Check) -> "Generator | None":
        """Return what generates and scores text at every validation; None measures the loss only."""
        del recipe, setup, check
        return None

    def finish(self, run: Path, recipe: RecipeOf, prepared: Path, report: Report, check: Check) -> None:
        """Complete a run with a trained model; nothing happens where it is complete."""
        del run, recipe, prepared, report, check


def find_task(name: object) -> Task[Any]:
    """Return the task of a name.

    Raises:
        ValueError: If there is none.
    """
    names = kinds("sumpool.tasks")
    if name not in names:
        raise ValueError(f"task must be one of {', '.join(names)}, got {name!r}")
    task: Task[Any] = import_module(f"sumpool.tasks.{name}.task").TASK
    return task


def command_of(task: str) -> str:
    """Return the command that uses models of a task; that which trains them if there is no such task."""
    try:
        return find_task(task).use.split()[0]
    except ValueError:
        return "train"
