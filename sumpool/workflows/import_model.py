"""`sumpool import`: a BART or LED of Hugging Face in, a run folder out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.execution import SkipInit
from sumpool.data.config import DataConfig
from sumpool.data.encoding import SENTENCES
from sumpool.errors import CheckpointError, RecipeError
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import require_space
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.pretrained.config import CONFIG, Changes, Original, describe, read_original, settings_of
from sumpool.pretrained.folder import Tensors
from sumpool.pretrained.generation import writes_like
from sumpool.pretrained.hub import fetch
from sumpool.pretrained.positions import Extension
from sumpool.pretrained.renumbering import renumber
from sumpool.pretrained.weights import translate
from sumpool.progress import Progress, Report, silent
from sumpool.recipe.load import dump_recipe
from sumpool.recipe.problems import error_messages
from sumpool.recipe.schema import Recipe
from sumpool.runs.model_card import CARD, imported_card
from sumpool.runs.run_folder import RECIPE, made_whole, require_new
from sumpool.text.hf_bpe import ForeignPieces, read_pieces
from sumpool.text.sentences import shipped
from sumpool.text.tokenizer import BYTE_PAIRS
from sumpool.training.checkpoint import export
from sumpool.training.config import TrainConfig
from sumpool.training.weights import set_weights, weights_of

_UNCHANGED = Changes()
_GENTLE = 3e-5
"""Learning rate for what has been trained already; that of a new model would wipe it out."""

_FEWEST_PIECES = 300
"""What a recipe may say of a vocabulary at least."""
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@dataclass(frozen=True)
class _Source:
    """A model that was trained elsewhere.

    Attributes:
        folder: Where its files are.
        name: Its own name.
        origin: Where it comes from, for the model card.
        original: Its configuration.
        pieces: Its vocabulary.
        numbers: By our number of each piece its own; None where it has no such piece.
    """

    folder: Path
    name: str
    origin: str
    original: Original
    pieces: ForeignPieces
    numbers: list[int | None]


def import_model(
    source: str,
    out: Path,
    changes: Changes = _UNCHANGED,
    *,
    name: str | None = None,
    report: Report = silent,
    check: Check = go_on,
) -> Path:
    """Make a run folder of a BART or LED.

    Args:
        source: Its folder, or its name on the Hugging Face hub.
        out: The run folder, new or empty.
        changes: How the model is to differ from the original.
        name: Name in the recipe; that of the source by default.
        report: Hears what becomes of the model.
        check: Called between files.

    Returns:
        The run folder.

    Raises:
        RecipeError: If an argument is wrong, or there is something in the run folder.
        CheckpointError: If there is no such model, it is damaged, or ours cannot be what it is.
        DataError: If its vocabulary is missing, damaged or no byte-level BPE, or no library reads it.
        ResourceError: If memory or disk run out.
    """
    require_new(out)
    # 1. What is it, and what will it be?
    found = _find(source, report)
    recipe = _recipe(found, changes, name)
    differences = list(_differences(found, recipe.model, changes))
    for difference in differences:
        report(Progress("import", note=difference))
    check()
    # 2. A folder that appears when everything is in it.
    with made_whole(out) as new:
        (new / RECIPE).write_text(dump_recipe(recipe), "utf-8")
        (new / SENTENCES).write_text(shipped(), "utf-8")
        found.pieces.write(new / BYTE_PAIRS, found.numbers)
        check()
        model = translated(found.folder, found.original, recipe.model, found.numbers, changes.extend)
        require_space(new, sum(weights.nbytes for weights in weights_of(model).values()))
        files = {each: FileDigest.of(new / each) for each in (RECIPE, SENTENCES, BYTE_PAIRS)}
        Manifest(files, {"imported": found.origin}).write(new)
        export(new, model, {})
        (new / CARD).write_text(imported_card(recipe, out, found.origin, model, differences), "utf-8")
    return out


def _find(source: str, report: Report) -> _Source:
    """Read what there is to know of a model, but for its weights."""
    folder, origin = Path(source), source
    if not folder.is_dir():
        if folder.exists() or not _HUB_NAME.fullmatch(source):
            raise CheckpointError(f"{source} must be a folder with {CONFIG}, but there is no such folder")
        folder = fetch(source, report)
        origin = f"{source} on the Hugging Face hub, revision {folder.name}"
    original, pieces = read_original(folder), read_pieces(folder)
    for name, number in (("pad_token_id", pieces.pad), ("eos_token_id", pieces.end)):
        if getattr(original, name) != number:
            raise CheckpointError(
                f"{folder / CONFIG}: {name} must be as in the tokenizer beside it, {number}, got "
                f"{getattr(original, name)}"
            )
    rows, needed = original.vocab_size, max(pieces.unknown, pieces.paragraph or 0)
    if needed >= rows:
        raise CheckpointError(
            f"{folder / CONFIG}: vocab_size must be above {needed}, a piece of the tokenizer beside it, got {rows}"
        )
    numbers = renumber(rows, pieces.pad, pieces.unknown, pieces.end, pieces.paragraph)
    return _Source(folder, Path(source).resolve().name, origin, original, pieces, numbers)


def _recipe(found: _Source, changes: Changes, name: str | None) -> Recipe:
    """Write down what the imported model is and how it writes."""
    model = settings_of(found.original, changes, found.folder)
    ours = {number: our for our, number in enumerate(found.numbers) if number is not None}
    try:
        writing = writes_like(found.original.generation, ours, model.target_length)
    except ValidationError as error:
        raise CheckpointError(f"{found.folder} must write as sumpool can: {describe(error)}") from error
    try:
        return Recipe(
            name=re.sub(r"[^A-Za-z0-9._-]+", "-", found.name)[:64] if name is None else name,
            data=DataConfig(vocabulary=max(_FEWEST_PIECES, len(found.numbers))),
            model=model,
            train=TrainConfig(learning_rate=_GENTLE),
            summarize=writing.model_copy(update={"precision": "fp32"}),  # the original's tokens, to the last one
        )
    except ValidationError as error:
        raise RecipeError(f"--{error_messages(error, Recipe)[0]}") from error


def translated(
    folder: Path, original: Original, config: ModelConfig, numbers: Sequence[int | None], how: Extension
) -> SummarizationModel:
    """Build our model with the weights of the other.

    Args:
        folder: The other's.
        original: Its configuration.
        config: Our settings, of the same sizes.
        numbers: By our number of each piece its own; None where it has no such piece.
        how: How positions beyond its own are made.

    Raises:
        CheckpointError: If its weights are missing, damaged or others.
    """
    weights = translate(Tensors(folder), original, config, numbers, how)
    with torch.device("meta"), SkipInit():  # random weights for nobody would take their time
        model = SummarizationModel(config, len(numbers))
    model.to_empty(device="cpu")
    set_weights(model, weights, str(folder))
    return model


def _differences(found: _Source, model: ModelConfig, changes: Changes) -> Iterator[str]:
    """Say what a user of the original should know of ours."""
    original, generation = found.original, found.original.generation
    if changes.attention != "keep":
        yield (
            f"The encoder's attention is {changes.attention} over {changes.window:,} tokens, with all weights and "
            "biases of the original's."
        )
    if original.model_type == "led":
        yield "The first token of a document sees all others and is seen by them, as transformers does it on demand."
    learned, read = original.source_length, model.source_length
    if read > learned:
        copies = "copies of them" if changes.extend == "repeat" else "copies of them, every second one back to front"
        yield f"It reads {read:,} tokens of a document: after the {learned:,} learned positions come {copies}."
    elif read < learned:
        yield f"It reads {read:,} tokens of a document: the last {learned - read:,} learned positions are left out."
    if generation.max_length is None and generation.max_new_tokens is None:
        yield "Nothing says how long its summaries are; set summarize.max_length."
    if generation.early_stopping == "never":
        yield "Searches end as with early_stopping = never, but an end that the longest length forces is not free."
    if generation.left_out:
        yield f"Of its settings for writing these are not taken over: {', '.join(generation.left_out)}."
