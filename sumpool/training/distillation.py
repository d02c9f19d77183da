"""Distillation by token distributions (Hinton et al., 2015, arXiv:1503.02531; "word level" of Kim and Rush, 2016).

The loss of a target token is (1 - weight) * NLL + weight * temperature^2 * KL(teacher || student), both distributions
at the same temperature: their logarithms are divided by it and normalised again. Those of a pointer are the mixtures
of generating and copying, so that teacher and student may have any output heads over the same vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sumpool.core.nn.cross_entropy import MAX_LOGITS
from sumpool.core.output import Distribution, Scores
from sumpool.data.batches import Batch


@dataclass(frozen=True)
class Teacher:
    """Model whose token distributions a training imitates.

    Attributes:
        model: The model, in evaluation mode and without gradients.
        temperature: Temperature of both distributions.
        weight: Weight of the divergence, in [0, 1]; the rest is that of the negative log-likelihood.
    """

    model: nn.Module
    temperature: float = 1.0
    weight: float = 0.5

    def divergence(self, scores: Scores, batch: Batch) -> Tensor:
        """Divergence of the student from the teacher, summed over the target tokens of a batch, in nats.

        Args:
            scores: Scores of the student.
            batch: The batch, on the device of both models.
        """
        assert batch.target is not None, "a training batch has targets"
        with torch.no_grad():
            taught, *_ = self.model(batch.ids, batch.mask, batch.sentences, batch.target, lengths=batch.lengths)
        assert taught.distribution, "models give the distributions of their scores"
        assert scores.distribution, "models give the distributions of their scores"
        return token_divergence(taught.distribution, scores.distribution, batch.target != batch.pad, self.temperature)

    def combine(self, nll: Tensor, divergence: Tensor) -> Tensor:
        """Return the training loss from negative log-likelihood and divergence."""
        return (1 - self.weight) * nll + self.weight * self.temperature**2 * divergence


def token_divergence(
    teacher: Distribution, student: Distribution, mask: Tensor, temperature: float, max_size: int = MAX_LOGITS
) -> Tensor:
    """Kullback-Leibler divergence KL(teacher || student), summed over target tokens.

    Where the distributions exceed `max_size` numbers, they are computed in chunks of target tokens, and again in the
    backward pass: memory is that of one chunk.

    Args:
        teacher: Log-probabilities of the teacher.
        student: Log-probabilities of the student.
        mask: (batch, target), True at the tokens that count.
        temperature: Temperature of both distributions.
        max_size: Numbers of a distribution in memory at a time.

    Returns:
        A scalar in nats, in at least single precision.
    """

    def of_chunk(part: slice) -> Tensor:
        with torch.no_grad():
            taught = soften(teacher(part), temperature)
        learnt = soften(student(part), temperature)
        # Tokens that the teacher never outputs contribute nothing, whatever the student thinks of them.
        terms = torch.where(taught > -torch.inf, taught.exp() * (taught - learnt), 0.0)  # (batch, part, vocab)
        return terms.sum(-1).masked_fill(~mask[:, part], 0.0).sum()

    with torch.no_grad():
        vocabulary = teacher(slice(0, 1)).size(-1)
    step = max(1, max_size // (vocabulary * max(1, len(mask))))
    parts = [slice(start, start + step) for start in range(0, mask.size(1), step)]
    if len(parts) == 1:
        return of_chunk(parts[0])
    chunks: list[Callable[[], Tensor]] = [partial(of_chunk, part) for part in parts]
    run = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
    return torch.stack([run(chunk) for chunk in chunks]).sum()


def soften(log_probs: Tensor, temperature: float) -> Tensor:
    """Divide log-probabilities (..., vocab) by a temperature and normalise them."""
    return log_probs if temperature == 1 else (log_probs / temperature).log_softmax(-1)
