"""Generation of text by a language model, one token at a time, with a cache."""

import codecs
from collections.abc import Iterator, Sequence

import torch

from sumpool.core.decoding.text_sampling import TextSampling, draw_token
from sumpool.progress import Check, no_op
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
