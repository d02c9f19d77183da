"""A trained model, ready for use: everything that a run folder holds, loaded and checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.execution import SkipInit, one_thread
from sumpool.core.nn.quantization import pack
from sumpool.data.report import DataReport
from sumpool.errors import CheckpointError, RecipeError
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.checkpoint import MODEL, load_weights
from sumpool.training.hardware import choose_device, choose_generation_precision

RUNS = Path("runs")
"""Where training puts its runs."""

SHIPPED = Path(str(files("sumpool").joinpath("shipped")))
"""The model that comes with the package, made by recipes/default.yaml."""

# Greedy search that may stop at once stops after 10 to 25 words and loses 7 points of ROUGE-1; a minimum close to the
# usual length brings them back, and a little below it leaves room for short summaries.
_SHORTEST = 0.85
_LONGEST = 2


@dataclass(frozen=True)
class LoadedModel:
    """What it takes to summarise.

    Attributes:
        folder: The run folder.
        recipe: The run's recipe, with what the caller has changed.
        model: The model with its best weights, on its device, in evaluation mode.
        tokenizer: The run's vocabulary.
        splitter: The run's sentence splitter.
        lengths: Shortest and longest summary that is written, and the usual one.
        device: Where the model is.
    """

    folder: Path
    recipe: Recipe
    model: SummarizationModel
    tokenizer: Tokenizer
    splitter: SentenceSplitter
    lengths: Lengths
    device: torch.device


@one_thread()
def load_model(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedModel:
    """Load a run folder.

    Args:
        folder: The run folder; None takes the newest one that holds a model, or the model that comes with the package.
        overrides: Settings to change, each like `summarize.beams=1`.

    Raises:
        CheckpointError: If the folder holds no model, or a file in it is damaged or belongs to another one.
        DataError: If tokenizer, sentence splitter or data report is missing or damaged.
        RecipeError: If an override is wrong, or the lengths contradict each other.
    """
    folder = folder or usual_model(RUNS)
    if not (folder / "recipe.yaml").is_file():
        raise CheckpointError(f"{folder} must be a run folder with recipe.yaml and {MODEL}, got neither; {_ADVICE}")
    recipe = load_recipe(folder, overrides)
    if not (folder / MODEL).is_file():
        raise CheckpointError(f"{folder} must hold {MODEL}, but its training has saved no model yet; let it go on")
    tokenizer = load_tokenizer(folder)
    with SkipInit():
        word_starts = torch.tensor(tokenizer.word_starts())
        model = SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)
    # A model that is asked for in another form may do with fewer parts, such as a selection that learns nothing.
    load_weights(folder, model, leave_out=any(change.startswith("model.") for change in overrides))
    for name, weights in model.named_parameters():
        if not weights.isfinite().all():
            raise CheckpointError(f"{folder / MODEL} must hold finite weights, got others in {name}; train again")
    device = choose_device(recipe.summarize.device)
    return LoadedModel(
        folder=folder,
        recipe=recipe,
        model=model.to(device).eval().requires_grad_(False),
        tokenizer=tokenizer,
        splitter=SentenceSplitter.load(folder / "sentences.json"),
        lengths=_lengths(folder, recipe),
        device=device,
    )


@one_thread()
def load_writer(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedModel:
    """Load a run folder to write summaries, in the precision of its settings: the model is of no other use.

    Args:
        folder: The run folder; None takes the one that `load_model` does.
        overrides: Settings to change, each like `summarize.precision=fp32`.

    Raises:
        CheckpointError: As `load_model` does.
        DataError: As `load_model` does.
        RecipeError: As `load_model` does, or if the device does not have the precision.
    """
    loaded = load_model(folder, overrides)
    pack(loaded.model, choose_generation_precision(loaded.recipe.summarize.precision, loaded.device))
    return loaded


_ADVICE = "run `sumpool train recipes/quickstart.yaml`, or with a recipe of your own, or name a run with --model"


def usual_model(runs: Path) -> Path:
    """Find the run whose model was saved last; where there is none, the model that comes with the package."""
    try:
        return newest_run(runs)
    except CheckpointError:
        return SHIPPED


def newest_run(runs: Path) -> Path:
    """Find the run whose model was saved last.

    Raises:
        CheckpointError: If there is none.
    """
    models = [path for path in runs.glob(f"*/{MODEL}") if (path.parent / "recipe.yaml").is_file()]
    if not models:
        raise CheckpointError(f"{runs.absolute()} must hold a trained model, got none; {_ADVICE}")
    return max(models, key=lambda path: (path.stat().st_mtime_ns, path)).parent


def choose_lengths(config: DecodingConfig, mean: float, ninth_decile: float, target_length: int) -> Lengths:
    """Fill in the lengths that are left to the training summaries.

    Args:
        config: The settings; a length that they fix is kept.
        mean: Mean tokens of the training summaries.
        ninth_decile: Tokens that 90 % of the training summaries keep below.
        target_length: Tokens of a summary that the model writes, its end included.

    Raises:
        RecipeError: If the shortest summary that is asked for is longer than the longest.
    """
    maximum = round(_LONGEST * ninth_decile) if config.max_length == "auto" else config.max_length
    maximum = max(1, min(maximum, target_length - 1))
    minimum = min(round(_SHORTEST * mean), maximum) if config.min_length == "auto" else config.min_length
    if minimum > maximum:
        raise RecipeError(f"summarize.min_length must be at most the longest length, {maximum}, got {minimum}")
    likely = max(minimum, min(round(mean), maximum)) if config.max_length == "auto" else None
    return Lengths(minimum, maximum, likely)


def _lengths(folder: Path, recipe: Recipe) -> Lengths:
    config = recipe.summarize
    if "auto" not in (config.min_length, config.max_length):
        return choose_lengths(config, 0, 0, recipe.model.target_length)
    tokens = DataReport.load(folder).splits["train"].summary_tokens
    return choose_lengths(config, tokens.mean, tokens.p90, recipe.model.target_length)
