"""The task of modelling running text: the next character."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from sumpool.progress import Check, Report, no_op
from sumpool.recipe.task import Task
from sumpool.tasks.language_modeling.config import LanguageModelRecipe

if TYPE_CHECKING:
    from sumpool.data.batches import TrainingData
    from sumpool.data.config import Split
    from sumpool.evaluation.task import Results
    from sumpool.tasks.language_modeling.evaluate import LanguageModelEvaluation, LoadedLanguageModel
    from sumpool.tasks.language_modeling.model import LanguageModel
    from sumpool.tasks.language_modeling.prepare import TextReport
    from sumpool.text.tokenizer import Tokenizer


class LanguageModelingTask(Task[LanguageModelRecipe]):
    """Training and evaluation of language models."""

    recipe = LanguageModelRecipe
    kind = "language model"
    advice = "train a recipe with task: language_modeling, or name its run folder"
    use = "study segments {} doc.txt"
    title = "Language model of characters"
    unit = "character"
    limitations = (
        "The model continues text in the manner of its training text, true or not, and may repeat parts of it."
    )
    compares_runs = True
    evaluate_options = ("--out", "--resume", "--json", "--verify")

    def prepare(
        self,
        recipe: LanguageModelRecipe,
        *,
        skip_bad_rows: bool = False,
        report: Report = no_op,
        check: Check = no_op,
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
        from sumpool.data.batches import TrainingData
        from sumpool.tasks.language_modeling.stream import TextStream, TextWindows, WindowSampler, collate_windows

        training, validation = (
            TextStream.open(prepared, split, tokenizer.vocab_size) for split in ("train", "validation")
        )
        length = recipe.model.length

        def sampler(batch_tokens: int) -> WindowSampler:
            return WindowSampler(len(training), length, batch_tokens, recipe.seed, rotate=recipe.train.rotate)

        return TrainingData(
            training=TextWindows(training, length, ring=True),
            validation=TextWindows(validation, length, ring=False),
            source_length=length,
            target_length=length,
            seed=recipe.seed,
            special_tokens=tokenizer.special_tokens,
            collate=collate_windows,
            sampler=sampler,
        )

    def build_model(self, recipe: LanguageModelRecipe, prepared: Path, tokenizer: "Tokenizer") -> "LanguageModel":
        """Build the model of a recipe with random weights; tokens of white space end words."""
        from sumpool.tasks.language_modeling.model import LanguageModel

        del prepared
        separators = torch.tensor([bool(token) and token.isspace() for token in tokenizer.token_bytes()])
        return LanguageModel(recipe.model, tokenizer.vocab_size, separators, tokenizer.special_tokens)

    def load(self, folder: Path | None = None, overrides: Sequence[str] = ()) -> "LoadedLanguageModel":
        """Load a run folder, by default the newest one of a language model."""
        from sumpool.tasks.language_modeling.evaluate import load_language_model

        return load_language_model(folder, overrides)

    def sizes(self, recipe: LanguageModelRecipe) -> dict[str, str]:
        """Return the boundaries and the training window."""
        boundaries = " and ".join(level.kind for level in recipe.model.boundaries) or "none"
        return {"boundaries of segments": boundaries, "training window": f"{recipe.model.length:,} characters"}

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
