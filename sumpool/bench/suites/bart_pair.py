"""A random BART of transformers and its conversion, as by `sumpool import`."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sumpool.bench.config import TransformersConfig
from sumpool.bench.suites.transformers import Pair
from sumpool.errors import RecipeError
from sumpool.pretrained.config import ImportOptions, read_config, to_model_config
from sumpool.pretrained.generation import to_decoding_config
from sumpool.pretrained.weights import load_pretrained
from sumpool.special_tokens import SpecialTokens

BOS, PAD, EOS, UNK = 0, 1, 2, 3
"""Special tokens of BART."""


def random_pair(settings: TransformersConfig, seed: int) -> Pair:
    """Build a BART of transformers with random weights, and the same model of sumpool.

    Args:
        settings: Sizes of the model, and its generation settings.
        seed: Seed of its weights.

    Raises:
        RecipeError: If transformers is not installed.
    """
    if find_spec("transformers") is None:
        raise RecipeError("bench transformers must have transformers, which is not installed: pip install transformers")
    from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
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
    theirs.final_logits_bias[:, [PAD, UNK]] = -torch.inf  # sumpool never generates them
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
    special_tokens = SpecialTokens(PAD, EOS, decoder_start=EOS, suppressed=(PAD, UNK))
    with TemporaryDirectory() as name:
        theirs.save_pretrained(name)
        folder, options = Path(name), ImportOptions()
        pretrained = read_config(folder)
        config = to_model_config(pretrained, options, folder)
        ours = load_pretrained(folder, pretrained, config, special_tokens, options.extend)
    decoding = to_decoding_config(pretrained.generation, config.target_length)
    return Pair(theirs, ours, EOS, decoding, version("transformers"))
