"""The task of modelling running text: the next character, byte or subword."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from sumpool.progress import Check, Report
from sumpool.recipe.task import Task
from sumpool.tasks.language_modeling.config import LanguageModelRecipe

if TYPE_CHECKING:
    from sumpool.data.sources._base import Split
    from sumpool.evaluation.task import Results
    from sumpool.tasks.language_modeling.evaluate import LanguageModelEvaluation
    from sumpool.tasks.language_modeling.generation import LoadedLanguageModel
    from sumpool.tasks.language_modeling.prepare import TextReport
    from sumpool.text.tokenizer import Tokenizer
    from sumpool.training.checkpoint import TrainingState
    from sumpool.training.data_order import TrainingData


class LanguageModelingTask(Task[LanguageModelRecipe]):
    """Training and evaluation of language models."""

    recipe = LanguageModelRecipe
    kind = "language model"
    advice = "train a recipe with task: language_modeling, or name its run folder"
    use = "generate {}"
    compares_runs = True
    evaluate_options = ("--out", "--resume", "--json", "--verify")

    def prepare(
        self,
        recipe: LanguageModelRecipe,
        *,
        skip_bad_rows: bool,
        report: Report,
        check: Check,
    ) -> "tuple[Path, TextReport]":
        """Read and normalise the text, make the vocabulary, encode the text as one stream per split."""
        from sumpool.tasks.language_modeling.prepare import find_or_prepare_text

        return find_or_prepare_text(
            recipe.data, recipe.prepared_folder, skip_bad_rows=skip_bad_rows, report=report, check=check
        )

    def load_report(self, folder: Path) -> "TextReport":
        """Read the report of prepared text, which a run folder has too."""
        from sumpool.tasks.language_modeling.prepare import TextReport

        return TextReport.load(folder)

    def open_data(self, recipe: LanguageModelRecipe, prepared: Path, tokenizer: "Tokenizer") -> "TrainingData":
        """Open the windows of the text of training and validation."""
        from sumpool.tasks.language_modeling.training import open_windows

        return open_windows(recipe, prepared, tokenizer)

    def build_model(self, recipe: LanguageModelRecipe, prepared: Path, tokenizer: "Tokenizer") -> nn.Module:
        """Build the model of a recipe with random weights."""
        from sumpool.tasks.language_modeling.training import build_language_model

        del prepared
        return build_language_model(recipe, tokenizer)

    def load(self, folder: Path | None = None, overrides: Sequence[str] = ()) -> "LoadedLanguageModel":
        """Load a run folder, by default the newest one of a language model."""
        from sumpool.tasks.language_modeling.generation import load_language_model

        return load_language_model(folder, overrides)

    def model_card(self, run: Path, recipe: LanguageModelRecipe, model: nn.Module, state: "TrainingState") -> str:
        """Render the model card of a finished run as Markdown."""
        from sumpool.tasks.language_modeling.training import model_card

        return model_card(run, recipe, model, state)

    def evaluate(
        self,
        runs: Sequence[Path],
        split: "Split",
        *,
        overrides: Sequence[str],
        limit: int | None,
        results: "Results",
        report: Report,
        check: Check,
    ) -> "LanguageModelEvaluation":
        """Score a split of the text of each run, and compare the runs."""
        from sumpool.tasks.language_modeling.evaluate import evaluate_language_models

        return evaluate_language_models(
            runs, split, overrides=overrides, limit=limit, results=results, report=report, check=check
        )


TASK = LanguageModelingTask()
