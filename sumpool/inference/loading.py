"""Loading of trained models: all files of a run folder, verified and loaded once."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sumpool.core.decoding.config import Lengths, choose_lengths
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import SkipInit, one_thread
from sumpool.core.nn.quantization import quantize
from sumpool.data.report import DataReport
from sumpool.errors import CheckpointError, DataError
from sumpool.inference.run_files import RunFiles, choose_model, newest_run, require_task, run_recipe
from sumpool.io.manifest import ADVICE, MODEL, RECIPE, REPORT, Manifest, run_folder
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.text.language import ENGLISH
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import TOKENIZER_FILES, Tokenizer, load_tokenizer
from sumpool.training.hardware import choose_device, choose_encoder_precision, choose_generation_precision
from sumpool.training.weights import load_weights

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedRun:
    """Trained model of a run of any task.

    Attributes:
        folder: The run folder.
        recipe: The run's recipe, with the caller's overrides.
        model: The model with its best weights, on its device, in evaluation mode.
        tokenizer: The run's tokenizer.
        device: Device of the model.
    """

    folder: Path
    recipe: BaseRecipe
    model: nn.Module
    tokenizer: Tokenizer
    device: torch.device


@dataclass(frozen=True)
class LoadedModel(LoadedRun):
    """A trained model with everything that summarising needs.

    Attributes:
        splitter: Sentence splitter for the language of the model.
        lengths: Shortest, longest and likely length of a summary in tokens.
        selector: Selects the sentences of extractive summaries.
        report: Report on the training data; None for models without one, such as imported ones.
        language: Language that the model has learnt (ISO 639-1); English for models without a data report.
    """

    recipe: Recipe
    model: SummarizationModel
    splitter: SentenceSplitter
    lengths: Lengths
    selector: SentenceSelector
    report: DataReport | None = None
    language: str = ENGLISH


def find_model(folder: Path | None = None, overrides: Sequence[str] = ()) -> tuple[Path, Recipe]:
    """Return the folder and the recipe of a model of summaries without loading it; errors are those of `load_model`."""
    run = RunFiles.open(choose_model(folder), overrides)
    return run.folder, run.recipe


@one_thread()
def load_model(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedModel:
    """Load a run folder.

    Args:
        folder: The run folder; None takes what `choose_model` does.
        overrides: Settings to change, each like `summarize.beams=1`.

    Raises:
        CheckpointError: If the folder has no model, or a file is damaged or belongs to another model.
        RecipeError: If an override is wrong, or the lengths contradict each other.
    """
    return _load(RunFiles.open(choose_model(folder), overrides))


def _load(run: RunFiles) -> LoadedModel:
    folder, recipe, config = run.folder, run.recipe, run.config
    run.manifest.verify_present(folder, TOKENIZER_FILES)
    try:
        tokenizer = load_tokenizer(folder)
        report = None if run.report is None else DataReport.parse(run.report, folder / REPORT)
        mean = p90 = 0.0
        if "auto" in (config.min_length, config.max_length):
            tokens = (report or DataReport.load(folder)).splits["train"].summary_tokens  # load says that there is none
            mean, p90 = tokens.mean, tokens.p90
    except DataError as error:  # of a file that prepared data has too
        raise CheckpointError(str(error)) from error
    word_starts = torch.tensor(tokenizer.word_starts())

    def build() -> SummarizationModel:
        with SkipInit():
            return SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)

    # an override of the model may leave out modules, such as a trained sentence selection
    leave_out = any(change.startswith("model.") for change in run.overrides)
    verified = (RECIPE, REPORT, RANKER, *TOKENIZER_FILES)
    model = load_weights(folder, build, leave_out=leave_out, manifest=run.manifest, verified=verified)
    device = choose_device(config.device)
    language = report.language if report else ENGLISH
    return LoadedModel(
        folder=folder,
        recipe=recipe,
        model=model.to(device).eval().requires_grad_(False),
        tokenizer=tokenizer,
        splitter=SentenceSplitter(language),
        lengths=choose_lengths(config, mean, p90, recipe.model.target_length),
        device=device,
        selector=run.selector,
        report=report,
        language=language,
    )


@one_thread()
def load_run_of_task(folder: Path | None, overrides: Sequence[str], task: str) -> LoadedRun:
    """Load the run folder of a task without more than every task has.

    Args:
        folder: The run folder; None takes the newest run of the task.
        overrides: Settings to change, each like `summarize.beams=1`.
        task: Task of the model.

    Raises:
        CheckpointError: If the folder has no model, or one of another task, or a file is damaged.
        RecipeError: If an override is wrong.
    """
    from sumpool.recipe.task import find_task  # as summaries need no task

    folder = run_folder(folder or newest_run(task))
    if not (folder / RECIPE).is_file():
        raise CheckpointError(f"{folder} must be a run folder with recipe.yaml and {MODEL}, got neither; {ADVICE}")
    manifest = Manifest.read(folder)
    content = manifest.read_file(folder, RECIPE)
    require_task(folder, content, task)
    recipe = run_recipe(folder, content, overrides)
    if not (folder / MODEL).is_file():
        raise CheckpointError(f"{folder} must hold {MODEL}, but its training has saved no model yet; let it go on")
    of_task = find_task(task)
    manifest.verify_present(folder, (*TOKENIZER_FILES, REPORT, *of_task.files))
    device = choose_device(recipe.train.device)
    try:
        tokenizer = load_tokenizer(folder)

        def build() -> nn.Module:
            with SkipInit():
                return of_task.build_model(recipe, folder, tokenizer)

        model = load_weights(folder, build, leave_out=any(change.startswith("model.") for change in overrides))
    except DataError as error:  # of a file that prepared data has too
        raise CheckpointError(str(error)) from error
    return LoadedRun(folder, recipe, model.to(device).eval().requires_grad_(False), tokenizer, device)


def load_for_generation(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedModel:
    """Load a run folder and quantize the model as `summarize.precision` says; the model can then only generate.

    Raises:
        CheckpointError: As `load_model` does.
        RecipeError: As `load_model` does, or if the device does not support the precision.
    """
    return load_run(RunFiles.open(choose_model(folder), overrides))


@one_thread()
def load_run(run: RunFiles) -> LoadedModel:
    """Load the model of a run folder that has been opened, as `load_for_generation` does, with the same errors."""
    loaded = _load(run)
    setting = loaded.recipe.summarize.precision
    precision = choose_generation_precision(setting, loaded.device)
    encoder = choose_encoder_precision(setting, precision, loaded.device)
    _LOG.debug("summarize.precision=%s: encoder %s, decoder %s on %s", setting, encoder, precision, loaded.device)
    quantize(loaded.model, precision, encoder)
    return loaded
