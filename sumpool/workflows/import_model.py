"""`sumpool import`: convert a model of Hugging Face into a run folder."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.atomic import require_space
from sumpool.io.manifest import MODEL, RECIPE, FileDigest, Manifest
from sumpool.pretrained.config import (
    CONFIG,
    ImportOptions,
    PretrainedConfig,
    read_config,
    to_decoding_config,
    to_model_config,
)
from sumpool.pretrained.hub import RUN_FILES, fetch
from sumpool.pretrained.tokenizer import read_tokenizer
from sumpool.pretrained.weights import Tensors, check_shapes, load_pretrained
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.recipe.load import dump_recipe, error_messages
from sumpool.recipe.schema import Recipe, SummaryDataConfig
from sumpool.runs.model_card import CARD, imported_card
from sumpool.runs.run_folder import new_folder, require_new
from sumpool.settings import first_problem
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.tokenizer import TOKENIZER_JSON, VOCABULARY_JSON
from sumpool.training.config import TrainConfig
from sumpool.training.weights import export, weights_of

_UNCHANGED = ImportOptions()
_FINE_TUNING_RATE = 3e-5
"""Learning rate of further training; that of a new model would destroy what is learnt."""
_MIN_VOCABULARY = 300
"""Smallest `data.vocabulary` of a recipe."""
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def import_model(
    source: str,
    out: Path,
    options: ImportOptions = _UNCHANGED,
    *,
    name: str | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> Path:
    """Convert a BART, LED, Marian, mBART or PEGASUS into a run folder; a model of sumpool is copied and verified.

    Args:
        source: Folder of the model, or its name on the Hugging Face hub.
        out: The run folder, new or empty.
        options: How the imported model differs from the original.
        name: Name in the recipe; by default that of the source.
        report: Called with the differences from the original.
        check: Called between files.

    Raises:
        RecipeError: If an argument is wrong, or the run folder is not empty.
        CheckpointError: If there is no such model, it is damaged, `SummarizationModel` cannot compute what it does, or
            its tokenizer is missing, damaged or of another kind, or no library reads it.
        ResourceError: If memory or disk run out.
        Interrupted: If a signal has come; nothing is written.
    """
    require_new(out)
    folder, origin = Path(source), source
    if not folder.is_dir():
        if folder.exists() or not _HUB_NAME.fullmatch(source):
            raise CheckpointError(f"{source} must be a folder with {CONFIG}, but there is no such folder")
        folder = fetch(source, report)
        origin = f"{source} on the Hugging Face hub, revision {folder.name}"
    if (folder / RECIPE).is_file():
        if options != _UNCHANGED or name:
            raise RecipeError(
                f"--attention, --cross-attention, --window, --positions, --extend and --name must come with a model of "
                f"Hugging Face, got {source}, a run of sumpool"
            )
        with told_when_stopped("nothing was imported"), new_folder(out) as new:
            for file in RUN_FILES:
                if (folder / file).is_file():
                    check()
                    shutil.copyfile(folder / file, new / file)
            manifest = Manifest.read(new)
            manifest.verify(new, {RECIPE, MODEL, *(file for file in RUN_FILES if file in manifest.files)}, check)
        return out
    # 1. Read and check everything but the weights.
    config = read_config(folder)
    check_shapes(Tensors(folder), config)
    try:
        tokenizer = read_tokenizer(folder, config.vocab_size, config.decoder_start_token_id)
    except DataError as error:
        raise CheckpointError(str(error)) from error
    special_tokens = tokenizer.special_tokens
    for token_name, token in (("pad_token_id", special_tokens.pad), ("eos_token_id", special_tokens.eos)):
        if getattr(config, token_name) != token:
            got = getattr(config, token_name)
            raise CheckpointError(
                f"{folder / CONFIG}: {token_name} must be as in the tokenizer beside it, {token}, got {got}"
            )
    default = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(source).resolve().name)[:64]
    model_config = to_model_config(config, options, folder)
    try:
        decoding = to_decoding_config(config.generation, model_config.target_length)
    except ValidationError as error:
        raise CheckpointError(f"{folder} must generate as sumpool can: {first_problem(error)}") from error
    try:
        recipe = Recipe(
            name=default if name is None else name,
            data=SummaryDataConfig(vocabulary=max(_MIN_VOCABULARY, tokenizer.vocab_size)),
            model=model_config,
            train=TrainConfig(learning_rate=_FINE_TUNING_RATE),
            summarize=decoding.model_copy(update={"precision": "fp32"}),  # the original's tokens, to the last one
        )
    except ValidationError as error:
        raise RecipeError(f"--{error_messages(error, Recipe)[0]}") from error
    differences = list(_differences(config, tokenizer, recipe.model, options))
    for difference in differences:
        report(Progress("import", note=difference))
    # 2. Write a folder that appears once it is complete.
    with told_when_stopped("nothing was imported"), new_folder(out) as new:
        check()
        (new / RECIPE).write_text(dump_recipe(recipe), "utf-8")
        tokenizer.save(new)
        check()
        model = load_pretrained(folder, config, recipe.model, tokenizer.special_tokens, options.extend)
        require_space(new, sum(weights.nbytes for weights in weights_of(model).values()))
        names = (RECIPE, TOKENIZER_JSON, VOCABULARY_JSON)
        Manifest({name: FileDigest.of(new / name) for name in names}, {"imported": origin}).write(new)
        export(new, model, {})
        (new / CARD).write_text(imported_card(recipe, out, origin, model, differences), "utf-8")
    return out


def _differences(
    config: PretrainedConfig, tokenizer: HuggingFaceTokenizer, model: ModelConfig, options: ImportOptions
) -> Iterator[str]:
    """Return what differs from the original, in sentences."""
    generation = config.generation
    if options.attention != "keep":
        yield f"Encoder attention is {options.attention} over {options.window:,} tokens, with the original's weights."
    if options.cross_attention == "hepos":
        yield "Cross-attention is hepos, in which a head attends to every fourth state, with the original's weights."
    if config.model_type == "led":
        yield "The first token of a document attends globally, as it does in transformers on request."
    kind, known, length = config.family.positions, config.source_length, model.source_length
    if length > known:
        forms = {"repeat": "copies", "flip": "copies, every second one reversed", "last": "copies of the last one"}
        copies = forms[options.extend]
        others = copies if kind == "learned" else "more of them"
        yield f"Input length is {length:,} tokens: the {known:,} {kind} positions are followed by {others}."
    elif length < known:
        yield f"Input length is {length:,} tokens: the last {known - length:,} {kind} positions are dropped."
    if generation.max_length is None and generation.max_new_tokens is None:
        yield "The original does not limit the length of summaries; set summarize.max_length."
    if generation.early_stopping == "never":
        yield "Searches end as with early_stopping = never, but an EOS forced by the maximum length is not free."
    suppressed = set(generation.suppress_tokens or ()) <= set(tokenizer.special_tokens.suppressed)
    left_out = [name for name in generation.left_out if name != "suppress_tokens" or not suppressed]
    if left_out:
        yield f"Unsupported generation settings are ignored: {', '.join(left_out)}."
