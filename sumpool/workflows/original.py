"""A random BART of transformers and ours made from it, on the way that `sumpool import` goes."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sumpool.bench.config import TransformersConfig
from sumpool.bench.suites.transformers import Pair
from sumpool.errors import RecipeError
from sumpool.pretrained.config import Changes, read_original, settings_of
from sumpool.pretrained.generation import writes_like
from sumpool.pretrained.renumbering import renumber
from sumpool.workflows.import_model import translated

BOS, PAD, EOS, UNK = 0, 1, 2, 3
"""Pieces of BART by its own numbers."""


def random_pair(settings: TransformersConfig, seed: int) -> Pair:
    """Build both.

    Args:
        settings: Sizes of the model, and how it writes.
        seed: Seed of its weights.

    Raises:
        RecipeError: If transformers is not installed.
    """
    if find_spec("transformers") is None:
        raise RecipeError("bench transformers must have transformers, which is not installed: pip install transformers")
    from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # it would stand in the way of ours
    halves = {"layers": settings.layers, "attention_heads": settings.heads, "ffn_dim": settings.feed_forward}
    torch.manual_seed(seed)
    theirs = BartForConditionalGeneration(
        BartConfig(
            vocab_size=settings.vocabulary,
            d_model=settings.dim,
            max_position_embeddings=max(settings.length, settings.generate + 3),
            **{f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in halves.items()},
        )
    ).eval()
    theirs.final_logits_bias[:, [PAD, UNK]] = -torch.inf  # ours never writes them
    theirs.generation_config = GenerationConfig(
        num_beams=settings.beams,
        length_penalty=2.0,
        early_stopping=True,
        no_repeat_ngram_size=3,
        min_length=settings.generate + 2,  # begin, first piece and summary
        max_length=settings.generate + 3,
        forced_bos_token_id=BOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=EOS,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return _imported(theirs, Path(folder))


def _imported(theirs: object, folder: Path) -> Pair:
    """Make ours from the files of theirs."""
    original, changes = read_original(folder), Changes()
    config = settings_of(original, changes, folder)
    numbers = renumber(original.vocab_size, PAD, UNK, EOS, None)
    ours = translated(folder, original, config, numbers, changes.extend)
    our_number = {number: our for our, number in enumerate(numbers) if number is not None}
    writing = writes_like(original.generation, our_number, config.target_length)
    return Pair(theirs, ours, torch.tensor([number or 0 for number in numbers]), EOS, writing, version("transformers"))
