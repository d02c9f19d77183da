"""Decoding with a cache against one pass over whole summaries, and chunked encoding against whole documents."""

from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from sumpool.core.model import chunked_encoding
from sumpool.core.model.chunked_encoding import MemoryBudget
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.special_tokens import BOS
from tests.core.model.test_summarizer import CROSS_ATTENTIONS, ENCODERS, VOCAB, make_documents, make_model
from tests.torture.figures import Measured

ID: Final = "E3"
FIGURE: Final = "cached against uncached decoding of 64 tokens, chunked against whole encoding: within 1e-5 in fp32"
NIGHT: Final = 50
QUICK: Final = 2
_TOLERANCE = 1e-5
_TOKENS = 64
_ROWS = 16
"""Rows that chunks have at most."""


@torch.no_grad()
def measure(count: int, folder: Path) -> Measured:
    """Compare `count` documents of every encoder with every cross-attention and output head, or few with half."""
    del folder
    error, cases = 0.0, 0
    outputs = [("tied", "full"), ("memory", "full"), *(("pointer", kind) for kind in CROSS_ATTENTIONS)]
    generator = torch.Generator().manual_seed(4)
    lengths = torch.randint(1, 180, (count,), generator=generator).tolist()
    for place, encoder in enumerate(ENCODERS):
        for output, cross_attention in outputs if count > QUICK else outputs[place :: len(ENCODERS)]:
            model = make_model(encoder, output=output, cross_attention=cross_attention)
            documents = make_documents(*lengths)
            target = torch.randint(5, VOCAB, (count, _TOKENS), generator=generator)
            error = max(error, _decoding_error(model, documents, target), _encoding_error(model, documents))
            cases += count
    return Measured(f"within {error:.1e}", error <= _TOLERANCE, cases)


def _decoding_error(model: SummarizationModel, documents: tuple[Tensor, Tensor, Tensor], target: Tensor) -> float:
    """Largest difference between log-probabilities of steps with a cache and of whole summaries."""
    memory = model.encode(*documents)
    scores = model.score(memory, target).log_prob
    state, last, error = model.start(memory, 1), torch.full((len(target),), BOS), 0.0
    for position in range(target.size(1)):
        log_probs, state = model.step(last, state)
        last = target[:, position]
        stepped = log_probs.gather(1, last[:, None]).squeeze(1)
        error = max(error, float((stepped - scores[:, position]).abs().max()))
    return error


def _encoding_error(model: SummarizationModel, documents: tuple[Tensor, Tensor, Tensor]) -> float:
    """Largest difference between states of chunked and of whole documents."""
    budget = chunked_encoding.CPU_BUDGET
    chunked_encoding.CPU_BUDGET = MemoryBudget(_ROWS * model.config.dim * 4, 2**30)
    try:
        chunked = model.encode(*documents).tokens
    finally:
        chunked_encoding.CPU_BUDGET = budget
    model.encoder.chunked = False
    whole = model.encode(*documents).tokens
    model.encoder.chunked = True
    if not torch.equal(chunked.mask, whole.mask):
        return float("inf")
    return float((chunked.states - whole.states)[whole.mask].abs().max())
