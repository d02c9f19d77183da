"""Generation of text by a language model, one token at a time, with a cache."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool.core.decoding.text_sampling import TextSampling, draw_token
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.tasks.language_modeling.loading import LoadedLanguageModel, encode_prompt, load_language_model
from sumpool.tasks.language_modeling.scoring import TextModel


@torch.inference_mode()
def generate_tokens(
    model: TextModel,
    prompt: Sequence[int],
    sampling: TextSampling,
    forbidden: Sequence[int],
    device: torch.device,
    check: Check = no_op,
) -> Iterator[int]:
    """Generate the tokens that follow a prompt.

    Args:
        model: The model, on the device, in evaluation mode.
        prompt: Ids of the prompt; at least one.
        sampling: Settings.
        forbidden: Tokens that are never generated, such as special tokens.
        device: Device of the model.
        check: Called before each token.

    Yields:
        One token after the other, `sampling.length` in all.

    Raises:
        ValueError: If the prompt is empty, or the model returns NaN.
    """
    if not prompt:
        raise ValueError("prompt must have at least one token, got none")
    random = torch.Generator().manual_seed(sampling.seed)
    cache = model.start(1)
    for token in prompt:
        check()
        logits, cache = model.step(torch.tensor([token], device=device), cache)
    for place in range(sampling.length):
        row = logits[0].double().cpu()
        row[list(forbidden)] = -torch.inf
        token = draw_token(row, sampling, float(torch.rand((), generator=random, dtype=torch.float64)))
        yield token
        check()
        if place + 1 < sampling.length:
            logits, cache = model.step(torch.tensor([token], device=device), cache)


def decode_stream(tokens: Iterator[int], token_bytes: Sequence[bytes]) -> Iterator[str]:
    """Decode tokens as they come; a character that several tokens make is given when it is complete.

    Bytes that are not UTF-8 are replaced by U+FFFD.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in tokens:
        if text := decoder.decode(token_bytes[token]):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


@dataclass(frozen=True)
class WrittenText:
    """Text as a language model writes it.

    Attributes:
        prompt: Beginning of the text as the model reads it; empty without one.
        seed: Seed of its random numbers.
        tokens: Tokens that are generated.
        parts: Its parts in order, each as soon as it is generated; read once.
    """

    prompt: str
    seed: int
    tokens: int
    parts: Iterator[str]


def generate(
    run: Path | None = None,
    prompt: str = "",
    count: int = 1,
    *,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[WrittenText]:
    """Write texts with a language model.

    Args:
        run: The run folder; None takes the newest run of a language model.
        prompt: Beginning of the text; empty for none.
        count: Number of texts; their seeds follow each other.
        overrides: Settings to change, each like `generate.temperature=0.8`.
        report: Called with notes on model and prompt.
        check: Called before each token.

    Yields:
        Texts one after the other; one is generated while it is read.

    Raises:
        CheckpointError: If there is no language model, or it is damaged.
        RecipeError: If a setting is wrong.
        ResourceError: If memory runs out.
    """
    # 1. Load the model, so that its errors appear before the first token.
    loaded = load_language_model(run, overrides)
    report(Progress("generate", note=f"model: {loaded.folder}{'' if run else ' (the newest language model)'}"))
    # 2. Encode the prompt as the training text was.
    ids, shown, unknown = encode_prompt(prompt, loaded)
    if unknown:
        report(Progress("generate", note=f"{unknown:,} characters of the prompt are not in the vocabulary"))
    # 3. Generate each text as it is read.
    for number in range(count):
        yield _write(loaded, ids, shown, number, check)


def _write(loaded: LoadedLanguageModel, ids: Sequence[int], shown: str, number: int, check: Check) -> WrittenText:
    sampling = loaded.recipe.generate.model_copy(update={"seed": loaded.recipe.generate.seed + number})
    tokens = generate_tokens(loaded.model, ids, sampling, loaded.forbidden, loaded.device, check)
    return WrittenText(shown, sampling.seed, sampling.length, decode_stream(tokens, loaded.token_bytes))
