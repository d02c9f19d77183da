"""`sumpool train`: a recipe in, a run folder with a trained model out."""

from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import RUNS
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task
from sumpool.runs.model_card import CARD, model_card
from sumpool.runs.run_folder import finish, opened, require_run_folder
from sumpool.runs.training_report import TrainingReport
from sumpool.runs.training_setup import DryRun, measure_update, set_up_training
from sumpool.training.checkpoint import CHECKPOINTS, Checkpoints
from sumpool.training.fit import fit
from sumpool.training.hardware import choose_device
from sumpool.training.processes import Processes, join_processes
from sumpool.training.update import freeze


def train(recipe: BaseRecipe, out: Path | None = None, *, report: Report = no_op, check: Check = no_op) -> Path:
    """Train a model of any task, or resume a run that was stopped.

    Args:
        recipe: The recipe.
        out: The run folder; runs/NAME of the recipe by default.
        report: Called with progress.
        check: Called where the work may stop.

    Raises:
        RecipeError: If the recipe does not fit the machine, the model, the run in the folder, `train.init_from` or
            `train.teacher`.
        DataError: If the data cannot be used.
        CheckpointError: If the run folder is damaged or in use, or a run of `train.init_from` is damaged.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; the work is saved.
    """
    with join_processes(recipe.train.device) as processes:
        return _train(recipe, out or RUNS / recipe.name, processes, report, check)


def _train(recipe: BaseRecipe, run: Path, processes: Processes, report: Report, check: Check) -> Path:
    """Train a model in one of the processes of the training, of which the first one writes the run folder."""
    settings, is_main, task = recipe.train, processes.is_main, find_task(recipe.task)
    # 1. Check the folder and the device, prepare the data, and build the model with its initial weights.
    require_run_folder(run)
    choose_device(settings.device)
    if settings.log and find_spec("tensorboard") is None:
        raise RecipeError(
            "train.log must name libraries that are installed, but tensorboard is not: "
            "pip install 'sumpool[tensorboard]'"
        )
    with processes.main_first():
        setup = set_up_training(recipe, report, check)
    if settings.init_from and not Checkpoints(run / CHECKPOINTS, settings.keep).steps():
        from sumpool.training.initial_weights import init_weights

        init_weights(setup.model, settings.init_from, setup.prepared, report)
    freeze(setup.model, settings.trainable)
    documents = setup.data
    if settings.teacher:
        from sumpool.workflows.teacher import begin_teaching, data_with_teacher

        documents = data_with_teacher(recipe, setup, run)
    # 2. Open the run folder of this recipe and this data, and lock it.
    with opened(run, recipe, setup.prepared, processes, report) as finished:
        if finished:
            report(Progress("train", note=f"{run} is finished"))
            if is_main:
                task.finish(run, recipe, setup.prepared, report, check)
            return run
        # 3. Write the summaries of the teacher.
        if settings.teacher:
            with processes.main_first():
                documents = begin_teaching(recipe, setup, documents, run, report, check)
        # 4. Update, validate and save checkpoints until the end.
        with closing(TrainingReport(run, settings, task.generator(recipe, setup, check), report)) as observer:
            state = fit(setup.model, settings, documents, run, observer=observer, report=report, check=check)
        if is_main:
            # 5. Describe the model, and mark its training as finished.
            card = model_card(task, run, recipe, setup.model, state)
            with disk_errors(run):
                replace_file(run / CARD, card.encode())
            finish(run, state)
            # 6. Do what the task adds to a trained model.
            task.finish(run, recipe, setup.prepared, report, check)
    return run


def dry_run(recipe: BaseRecipe, *, report: Report = no_op, check: Check = no_op) -> DryRun:
    """Check a recipe and its data, and measure one update with the longest batch; no run folder is made.

    Raises:
        RecipeError: If the recipe does not fit the machine or the model.
        DataError: If the data cannot be used.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    # 1. Check the device, prepare the data, and build the model.
    device = choose_device(recipe.train.device)
    setup = set_up_training(recipe, report, check)
    # 2. Measure an update.
    documents = setup.data
    if recipe.train.teacher:
        from sumpool.workflows.teacher import data_with_teacher

        documents = data_with_teacher(recipe, setup, None)
    return measure_update(setup.model, documents, recipe.train, device, report, check)
