"""Loading of trained language models, and generation of text by them, one token at a time, with a cache."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sumpool.data.config import Split
from sumpool.inference.loading import LoadedRun, load_run_of_task
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.runs.run_folder import prepared_data_of
from sumpool.special_tokens import UNK
from sumpool.tasks.language_modeling.config import LanguageModelRecipe, TextSampling
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.language_modeling.running_text import RunningText
from sumpool.tasks.language_modeling.stream import TextStream

_STARTS = (b"\n", b" ")
"""Tokens that a text without a prompt begins after, the first one that the vocabulary has."""


Ids = npt.NDArray[np.integer[Any]]


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
        settings = loaded.recipe.generate
        sampling = settings.model_copy(update={"seed": settings.seed + number})
        tokens = generate_tokens(loaded.model, ids, sampling, loaded.forbidden, loaded.device, check)
        yield WrittenText(shown, sampling.seed, sampling.length, decode_stream(tokens, loaded.token_bytes))


@dataclass(frozen=True)
class LoadedLanguageModel(LoadedRun):
    """A trained language model with everything that it needs.

    Attributes:
        token_bytes: UTF-8 bytes of every token; special tokens are empty.
    """

    recipe: LanguageModelRecipe
    model: LanguageModel
    token_bytes: Sequence[bytes]

    @property
    def forbidden(self) -> list[int]:
        """Ids of special tokens, which are never generated."""
        return [token for token, data in enumerate(self.token_bytes) if not data]


def load_language_model(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedLanguageModel:
    """Load the run folder of a language model.

    Args:
        folder: The run folder; None takes the newest run of a language model.
        overrides: Settings to change, each like `train.device=cpu`.

    Raises:
        CheckpointError: If the folder has no language model, or a file is damaged or belongs to another model.
        RecipeError: If an override is wrong.
    """
    run = load_run_of_task(folder, overrides, "language_modeling", LanguageModelRecipe)
    return LoadedLanguageModel(**vars(run), token_bytes=run.tokenizer.token_bytes())


def encode_prompt(prompt: str, loaded: LoadedLanguageModel) -> tuple[list[int], str, int]:
    """Normalise and encode a prompt as the training text was.

    Args:
        prompt: The prompt; may be empty.
        loaded: The model.

    Returns:
        Its ids, or that of white space for an empty one; the prompt as the model reads it; and the number of its
        characters that the vocabulary lacks.
    """
    clean = loaded.recipe.data.clean
    if clean:
        text = RunningText(clean)
        prompt = text.add(prompt) + text.finish()
    ids = loaded.tokenizer.encode_batch([prompt])[0] if prompt else []
    if not ids:
        spaces = [loaded.token_bytes.index(data) for data in _STARTS if data in loaded.token_bytes]
        first = next(token for token, data in enumerate(loaded.token_bytes) if data)
        return [*spaces, first][:1], "", 0
    return ids, prompt, ids.count(UNK)


@torch.inference_mode()
def generate_tokens(
    model: LanguageModel,
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
        ValueError: If the model returns NaN.
    """
    random = torch.Generator().manual_seed(sampling.seed)
    cache = model.start()
    for token in prompt:
        check()
        logits = model.step(torch.tensor([token], device=device), cache)
    for index in range(sampling.length):
        row = logits[0].double().cpu()
        row[list(forbidden)] = -torch.inf
        token = draw_token(row, sampling, float(torch.rand((), generator=random, dtype=torch.float64)))
        yield token
        check()
        if index + 1 < sampling.length:
            logits = model.step(torch.tensor([token], device=device), cache)


def draw_token(logits: Tensor, sampling: TextSampling, draw: float) -> int:
    """Draw a token by a uniform random number in [0, 1), at a temperature.

    Args:
        logits: (vocab,); minus infinity at tokens that are not drawn.
        sampling: Settings.
        draw: The random number: the token is drawn at which the cumulative distribution, the most probable token
            first, exceeds it.

    Raises:
        ValueError: If a logit is NaN.
    """
    if logits.isnan().any():
        raise ValueError("model must return logits, got NaN")
    if not sampling.temperature:
        return int(logits.argmax())
    ordered, tokens = logits.sort(descending=True, stable=True)
    sums = (ordered / sampling.temperature).softmax(0).cumsum(0)
    index, last = (sums <= draw * sums[-1]).sum(), (sums < sums[-1]).sum()  # behind the last are probabilities of 0
    return int(tokens[min(int(index), int(last))])


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
class EncodedText:
    """Running text as ids.

    Attributes:
        ids: (tokens,).
        token_bytes: UTF-8 bytes of every token of the vocabulary.
    """

    ids: Ids
    token_bytes: Sequence[bytes]


def split_of(loaded: LoadedLanguageModel, split: Split, check: Check = no_op) -> EncodedText:
    """Open the text of a split of a run's data, after verifying its files.

    Raises:
        DataError: If the prepared data is missing or damaged, or has ids that the vocabulary lacks.
    """
    prepared = prepared_data_of(loaded.folder, loaded.recipe, check)
    stream = TextStream.open(prepared, split, loaded.tokenizer.vocab_size)
    return EncodedText(stream.read(0, len(stream))[0], loaded.token_bytes)


@torch.inference_mode()
def segments_of(loaded: LoadedLanguageModel, ids: Ids) -> tuple[str, ...]:
    """Return the segments of a text as the model decides them; the last one may be unfinished."""
    if not len(ids):
        return ()
    row = torch.from_numpy(np.asarray(ids).astype(np.int64))[None].to(loaded.device)
    ends = loaded.model.boundaries_of(row, torch.ones_like(row, dtype=torch.bool))[0].tolist()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a boundary may divide a character of several bytes
    segments, data = [], b""
    for token, is_end in zip(ids.tolist(), ends, strict=True):
        data += loaded.token_bytes[token]
        if is_end:
            segments.append(decoder.decode(data))
            data = b""
    return tuple(text for text in (*segments, decoder.decode(data, final=True)) if text)
