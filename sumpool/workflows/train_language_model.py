"""`sumpool train` of a language model: a recipe in, a run folder with a trained model out."""

from contextlib import closing
from pathlib import Path

from sumpool.inference.model_choice import RUNS
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.language_model import LanguageModelRecipe
from sumpool.runs.dry_run import DryRun, measure_update
from sumpool.runs.run_folder import finish, opened, require_run_folder
from sumpool.runs.tensorboard_log import require_tensorboard
from sumpool.runs.text_model_card import write_text_model_card
from sumpool.runs.text_training_setup import set_up_text_training
from sumpool.runs.training_report import TrainingReport
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.fit import CHECKPOINTS, fit
from sumpool.training.hardware import choose_device
from sumpool.training.initial_weights import init_weights
from sumpool.training.optimizer import freeze
from sumpool.training.processes import Processes, join_processes


def train_language_model(
    recipe: LanguageModelRecipe, out: Path | None = None, *, report: Report = no_op, check: Check = no_op
) -> Path:
    """Train a language model, or resume a run that was stopped.

    Args:
        recipe: The recipe.
        out: The run folder; runs/NAME of the recipe by default.
        report: Called with progress.
        check: Called where the work may stop.

    Raises:
        RecipeError: If the recipe does not fit the machine, the model, the run in the folder or `train.init_from`.
        DataError: If the text cannot be used.
        CheckpointError: If the run folder is damaged or in use, or a run of `train.init_from` is damaged.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; the work is saved.
    """
    with join_processes(recipe.train.device) as processes:
        return _train(recipe, out or RUNS / recipe.name, processes, report, check)


def _train(recipe: LanguageModelRecipe, run: Path, processes: Processes, report: Report, check: Check) -> Path:
    """Train a model in one of the processes of the training, of which the first one writes the run folder."""
    settings = recipe.train
    # 1. Check the folder and the device, prepare the text, and build the model with its initial weights.
    require_run_folder(run)
    choose_device(settings.device)
    if settings.log:
        require_tensorboard()
    with processes.main_first():
        setup = set_up_text_training(recipe, report, check)
    if settings.init_from and not Checkpoints(run / CHECKPOINTS, settings.keep).steps():
        init_weights(setup.model, settings.init_from, setup.prepared, report)
    freeze(setup.model, settings.trainable)
    # 2. Open the run folder of this recipe and this text, and lock it.
    with opened(run, recipe, setup.prepared, processes, report) as finished:
        if finished:
            report(Progress("train", note=f"{run} is finished; nothing is left to do"))
            return run
        # 3. Update, validate and save checkpoints until the end.
        with closing(TrainingReport(run, settings, None, report)) as observer:
            state = fit(setup.model, settings, setup.data, run, observer=observer, report=report, check=check)
        # 4. Describe the model, and mark its training as finished.
        if processes.is_main:
            write_text_model_card(run, recipe, setup.model, state)
            finish(run, state)
    return run


def dry_run_language_model(recipe: LanguageModelRecipe, *, report: Report = no_op, check: Check = no_op) -> DryRun:
    """Check a recipe and its text, and measure one update; no run folder is made.

    Raises:
        RecipeError: If the recipe does not fit the machine or the model.
        DataError: If the text cannot be used.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    device = choose_device(recipe.train.device)
    setup = set_up_text_training(recipe, report, check)
    return measure_update(setup.model, setup.data, recipe.train, device, report, check)
