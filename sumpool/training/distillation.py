"""Distillation by token distributions (Hinton et al., 2015, arXiv:1503.02531; "word level" of Kim and Rush, 2016).

The loss of a target token is (1 - weight) * NLL + weight * temperature^2 * KL(teacher || student), both distributions
at the same temperature: their logarithms are divided by it and normalised again. Those of a pointer are the mixtures
of generating and copying, so that teacher and student may have any output heads over the same vocabulary.

The losses `hidden_states` and `attention_maps` compare encoders layer by layer, as in TinyBERT (Jiao et al., 2020,
arXiv:1909.10351): layer m of M imitates layer m * N / M of the teacher's N, and layer 0 is the embedding. Both are mean
squared errors over the real tokens of a document, summed over the layers. Hidden states go through one linear map,
which is trained with the model and not exported (the paper has another for the embedding); attention maps are the
scores before the softmax.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.hooks import RemovableHandle

from sumpool.core.attention._base import Attention, SoftmaxAttention
from sumpool.core.attention.blockwise import BlockwiseAttention
from sumpool.core.model.encoder import Encoder, EncoderLayer
from sumpool.core.nn.cross_entropy import MAX_LOGITS
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.output import Distribution, Scores
from sumpool.core.tokens import Tokens
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.config import LAYER_LOSSES
from sumpool.training.weights import IMITATION

Scored = tuple[Scores, dict[str, Tensor], dict[str, Tensor]]
"""What a model returns of a batch: scores of its target tokens, auxiliary losses, and metrics."""
Trace = dict[str, list[Tensor]]
"""What layer losses compare of an encoder, by the name of the loss, first layer to last."""


@dataclass(frozen=True)
class Teacher:
    """Model whose token distributions a training imitates.

    Attributes:
        model: The model, in evaluation mode and without gradients.
        temperature: Temperature of both distributions.
        weight: Weight of the divergence, in [0, 1]; the rest is that of the negative log-likelihood.
        losses: Names of the layer losses.
    """

    model: nn.Module
    temperature: float = 1.0
    weight: float = 0.5
    losses: tuple[str, ...] = ()

    def prepare(self, student: nn.Module) -> None:
        """Move to the device of a student, and add the linear map of hidden states to it."""
        self.model.to(next(student.parameters()).device)
        if "hidden_states" in self.losses:
            own, other = (model.get_parameter("embedding.weight") for model in (student, self.model))
            linear = nn.Linear(own.size(1), other.size(1), bias=False)
            nn.init.eye_(linear.weight)
            student.add_module(IMITATION, linear.to(own))

    def imitate(
        self, student: nn.Module, score: Callable[[], Scored], batch: Batch
    ) -> tuple[Scored, Tensor, dict[str, Tensor]]:
        """Score a batch by a student, and compare the student with the teacher.

        Args:
            student: The student.
            score: Scores the batch by the student.
            batch: The batch, on the device of both models.

        Returns:
            Result of `score`, whose losses have those of the layers, means over the documents, too; the training loss,
            and the divergence from the teacher in nats, both summed over the target tokens.

        Raises:
            RecipeError: If layers that are compared have other shapes.
        """
        assert batch.target is not None, "a training batch has targets"
        with self._trace(student) as learnt:
            scores, losses, metrics = score()
        with self._trace(self.model) as taught, torch.no_grad():
            reference, *_ = self.model(batch.ids, batch.mask, batch.sentences, batch.target, lengths=batch.lengths)
        assert reference.distribution, "models give the distributions of their scores"
        assert scores.distribution, "models give the distributions of their scores"
        mask = batch.target != batch.pad
        divergence = token_divergence(reference.distribution, scores.distribution, mask, self.temperature)
        losses |= self._layer_losses(student, learnt, taught, batch.mask.flatten(0, -2))
        objective = (1 - self.weight) * scores.nll + self.weight * self.temperature**2 * divergence
        return (scores, losses, metrics), objective, {"distillation": divergence}

    @contextmanager
    def _trace(self, model: nn.Module) -> Iterator[Trace]:
        """Collect what the layer losses compare while a model reads a batch within the context."""
        trace: Trace = {name: [] for name in LAYER_LOSSES}
        encoder = next(module for module in model.modules() if isinstance(module, Encoder))
        chunked, hooks = encoder.chunked, list[RemovableHandle]()
        inputs: list[tuple[Attention, Tokens]] = []

        def note_states(_: nn.Module, args: tuple[Tokens], output: Tokens) -> None:
            before = [] if trace["hidden_states"] else [args[0].states]
            trace["hidden_states"] += [*before, output.states]

        def note_input(attention: Attention, args: tuple[Tokens]) -> None:
            inputs.append((attention, args[0]))

        for layer in encoder.layers if self.losses else ():
            assert isinstance(layer, EncoderLayer)
            encoder.chunked = False  # layers then read whole documents
            if "hidden_states" in self.losses:
                hooks.append(layer.register_forward_hook(note_states))
            if "attention_maps" in self.losses:
                hooks.append(layer.attention.register_forward_pre_hook(note_input))
        try:
            yield trace
        finally:
            encoder.chunked = chunked
            for hook in hooks:
                hook.remove()
        # Not in the hooks, which activation checkpointing would have to call twice.
        trace["attention_maps"] = [attention_scores(*part) for part in inputs]

    def _layer_losses(self, student: nn.Module, learnt: Trace, taught: Trace, mask: Tensor) -> dict[str, Tensor]:
        """Return the layer losses from the traces of a student and the teacher; `mask` is (documents, length)."""
        losses: dict[str, Tensor] = {}
        for name in self.losses:
            first = int(name == "attention_maps")  # layer 0 has none
            most, others = (len(trace[name]) - 1 + first for trace in (learnt, taught))
            for layer, own in enumerate(learnt[name], first):
                other = taught[name][layer * others // most - first]
                if not first and own.size(1) == mask.size(1):
                    own = student.get_submodule(IMITATION)(zero_padding(own, mask))
                if own.size(1) != mask.size(1) or own.shape != other.shape:
                    raise RecipeError(
                        f"train.loss_weights must not name {name}: layer {layer} has other poolings, heads or blocks "
                        "than that of train.teacher"
                    )
                error = squared_error(own, other, mask).mean()
                losses[name] = losses[name] + error if name in losses else error
        return losses


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


def squared_error(learnt: Tensor, taught: Tensor, mask: Tensor) -> Tensor:
    """Mean squared error over the real tokens of each document, (documents,).

    Args:
        learnt: (documents, length, ...).
        taught: Like `learnt`; values of -inf do not count.
        mask: (documents, length), True at real tokens.
    """
    visible = (taught > -math.inf).flatten(2)
    learnt, taught = (at_least_float32(part.flatten(2)).masked_fill(~visible, 0.0) for part in (learnt, taught))
    errors = (learnt - taught).square().sum(2) / visible.sum(2).clamp(min=1)  # (documents, length)
    return errors.masked_fill(~mask, 0.0).sum(1) / mask.sum(1).clamp(min=1)


def attention_scores(attention: Attention, tokens: Tokens) -> Tensor:
    """Compute the scores before the softmax of full attention, or of full attention within blocks.

    Returns:
        (batch, length, heads, keys), in at least single precision, -inf at hidden keys.

    Raises:
        RecipeError: If the attention is another one.
    """
    if not isinstance(attention, SoftmaxAttention):
        raise RecipeError(
            f"train.loss_weights must not name attention_maps for a {type(attention).__name__}: vanilla and blockwise "
            "have them"
        )

    def of_rows(rows: Tokens) -> Tensor:
        query, key, _ = attention._project(rows)
        scores = at_least_float32(query / math.sqrt(query.size(-1)) @ key.mT)  # (rows, heads, length, keys)
        bias = attention.positions.bias(rows.positions)
        scores = scores if bias is None else scores + bias
        return scores.masked_fill(~rows.mask[:, None, None], -math.inf).transpose(1, 2).contiguous()

    return attention._map_blocks(of_rows, tokens) if isinstance(attention, BlockwiseAttention) else of_rows(tokens)
