"""`sumpool prune`: the least important attention heads of a trained model are masked (Michel et al., 2019).

A gate of 1 multiplies the output of every head ahead of the output projection. The importance of a head is the
expectation of |dL / dgate| over documents (arXiv:1905.10650, Equation 2), L being the loss of one document in nats per
target token, divided by the Euclidean norm of the importances of its attention, as they do after Molchanov et al.
(2017). A head is masked by a gate of 0, as part of the output projection.

Gates may be trained too (Voita et al., 2019, arXiv:1905.09418): random ones with a Hard Concrete distribution (Louizos
et al., 2018, arXiv:1712.01312), so that the loss of a document and the expected number of open gates, which is their L0
norm, have gradients by its parameter. The weights of the model stay as they are; in the paper they learn as well.
"""

import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention
from sumpool.core.cross_attention import CrossAttention
from sumpool.core.model.decoder import CausalAttention
from sumpool.data.batches import Batch, ItemSource, TrainingData
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.loading import LoadedRun
from sumpool.inference.run_files import task_of
from sumpool.io.manifest import FileDigest, Manifest, require_own
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import DEFAULT, find_task
from sumpool.runs.model_card import CARD, pruning_section
from sumpool.runs.run_folder import RECIPE, copied_files, new_folder, require_new
from sumpool.tasks.summarization.evaluate import prepared_folder
from sumpool.text.tokenizer import same_tokenizer
from sumpool.training.fit import validate
from sumpool.training.weights import export

DOCUMENTS = 100
"""Validation documents of a call that names no number."""

_LOW, _HIGH, _TEMPERATURE = -0.1, 1.1, 0.33
"""Limits between which gates are stretched, and temperature, in the code of Voita et al."""
_GATE_RATE = 0.05
"""Learning rate of gates."""
_GATE_START = 2.0
"""Parameter of gates at first, with which nearly all are open."""

HeadedAttention = Attention | CausalAttention | CrossAttention


@dataclass(frozen=True)
class ModelLoss:
    """Loss of a model on the validation documents.

    Attributes:
        loss: Validation loss, nats per target token.
        heads: Number of attention heads that are not masked.
    """

    loss: float
    heads: int


@dataclass(frozen=True)
class AttentionHeads:
    """Heads of one attention.

    Attributes:
        attention: Name of the attention in the model.
        heads: Indices of the heads that were not masked before.
        importance: Importance of each of them; squares sum to 1.
        masked: Indices of the heads that were masked.
        open_gates: Probability that the trained gate of each is open; empty if none was trained.
    """

    attention: str
    heads: tuple[int, ...]
    importance: tuple[float, ...]
    masked: tuple[int, ...] = ()
    open_gates: tuple[float, ...] = ()


@dataclass(frozen=True)
class HeadPruning:
    """Importance of the heads of a model, and the model with some masked.

    Attributes:
        documents: Validation documents of importance and loss.
        attentions: Heads of every attention.
        before: Loss of the model.
        after: Loss with the masked heads; None if none was masked.
        folder: Folder of the model with them; None if none was masked.
        by_gates: Loss with as many masked that are the least likely to have an open gate; None without gates.
    """

    documents: int
    attentions: tuple[AttentionHeads, ...]
    before: ModelLoss
    after: ModelLoss | None = None
    folder: str | None = None
    by_gates: ModelLoss | None = None


@told_when_stopped("nothing was pruned")
def prune_heads(
    run: Path,
    share: float | None = None,
    out: Path | None = None,
    *,
    documents: int = DOCUMENTS,
    gates: int = 0,
    penalty: float = 0.01,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> HeadPruning:
    """Estimate the importance of all heads of a model, and write a model with the least important ones masked.

    Args:
        run: The run folder, which is not changed.
        share: Share of the heads to mask; None only estimates their importance.
        out: The new folder; may exist if it is empty. By default the run folder's name with "-pruned".
        documents: Validation documents to take, the first ones.
        gates: Updates that train gates, each with a training document; with 0 there are no trained gates.
        penalty: Weight of the expected number of open gates, in nats per target token.
        overrides: Settings to change, each like `data.prepared=FOLDER`.
        report: Called with progress.
        check: Called between documents and files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, or a file is damaged.
        RecipeError: If a setting is wrong, the share cannot be masked, or the new folder is not empty.
        DataError: If the prepared data is missing, has another vocabulary, or no validation document.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; nothing is written.
    """
    if any(change.startswith("model.") for change in overrides):
        raise RecipeError("--set must leave the model of a run as it is, got a setting of model")
    out = out or run.with_name(f"{run.name}-pruned")
    if share is not None:
        require_new(out)
    # 1. Load the model, which verifies the run folder, and open the validation documents of its data.
    task = find_task(task_of(run) or DEFAULT)
    if not issubclass(task.recipe, Recipe):
        task = find_task(DEFAULT)  # which says that the run is of another task
    loaded = task.load(run, overrides)
    require_own(run, CARD)
    names = [name for name in (*copied_files(loaded.recipe.task), RANKER, CARD) if (run / name).is_file()]
    if share is not None and CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    data = _validation_data(loaded, check)
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})
    documents = min(documents, len(data.validation))
    # 2. Estimate the importance of the heads, and choose those to mask.
    single = partial(_single_documents, data, device=loaded.device, report=report)
    importance = head_importance(loaded.model, single(data.validation, documents), check)
    trained = train_gates(loaded.model, single(data.training, gates), penalty, check) if gates else {}
    heads = unmasked_heads(loaded.model)
    try:
        masked = {} if share is None else choose_heads(importance, heads, share)
        closed = {} if share is None or not trained else choose_heads(trained, heads, share)
    except ValueError as error:
        raise RecipeError(f"--heads: {error}") from error
    listed = []
    for name, indices in heads.items():
        values, probabilities = (part[name][list(indices)].tolist() if part else [] for part in (importance, trained))
        listed.append(AttentionHeads(name, indices, tuple(values), masked.get(name, ()), tuple(probabilities)))
    # 3. Measure the loss before and after.
    count = sum(map(len, heads.values()))
    loss = partial(validate, loaded.model, data, settings, loaded.device, check)
    before, by_gates = ModelLoss(loss()[0], count), None
    if share is None:
        return HeadPruning(documents, tuple(listed), before)
    remaining = count - sum(map(len, masked.values()))
    if closed:
        with head_gates(loaded.model) as head_gate:
            for name, indices in closed.items():
                head_gate[name][list(indices)] = 0.0
            by_gates = ModelLoss(loss()[0], remaining)
    mask_heads(loaded.model, masked)
    after = ModelLoss(loss()[0], remaining)
    result = HeadPruning(documents, tuple(listed), before, after, str(out), by_gates)
    # 4. Write a folder that appears when it is complete.
    _write(run, out, loaded, result, names, check)
    return result


def _write(run: Path, out: Path, loaded: LoadedRun, result: HeadPruning, names: Sequence[str], check: Check) -> None:
    """Write the folder of a model with some heads masked."""
    assert result.after is not None, "heads were masked"
    with new_folder(out) as new:
        for name in (RECIPE, *names):
            check()
            shutil.copyfile(run / name, new / name)
        masked = {entry.attention: entry.masked for entry in result.attentions if entry.masked}
        section = pruning_section(run, masked, result.before.loss, result.after.loss, result.documents)
        with (new / CARD).open("a", encoding="utf-8") as card:
            card.write(section)
        facts = {"pruned": Manifest.read(run).facts}
        listed = [name for name in (RECIPE, *names) if name != CARD]
        Manifest({name: FileDigest.of(new / name) for name in listed}, facts).write(new)
        check()
        export(new, loaded.model.cpu(), {"validation_loss": result.after.loss})
        check()


def _validation_data(loaded: LoadedRun, check: Check) -> TrainingData:
    """Open the validation documents of a model's data."""
    assert isinstance(loaded.recipe, Recipe), "the task has models that read documents"
    prepared = prepared_folder(loaded.folder, loaded.recipe, check)
    if not same_tokenizer(loaded.folder, prepared):
        raise DataError(
            f"{prepared} must have the vocabulary of {loaded.folder}, got another one: name the data that "
            "the model was trained on with --set data.prepared=FOLDER"
        )
    data: TrainingData = find_task(loaded.recipe.task).open_data(loaded.recipe, prepared, loaded.tokenizer)
    return data


def _single_documents(
    data: TrainingData, source: ItemSource, count: int, device: torch.device, report: Report
) -> Iterator[Batch]:
    for index in range(count):
        report(Progress("importance of heads", index, count))
        yield data.batch(source, [index % len(source)]).to(device)
    report(Progress("importance of heads", count, count))


def attentions(model: nn.Module) -> dict[str, HeadedAttention]:
    """All attentions of a model by their names, such as `encoder.layers.0.attention`, in the order of the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, HeadedAttention)}


@contextmanager
def head_gates(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Multiply the output of every head by a gate for the duration of a block.

    Yields:
        Gates of each attention by its name, (heads,), ones at first; they may be changed in place.
    """

    def multiply(gates: Tensor, _: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (merged,) = inputs  # (..., heads * head_dim)
        return ((merged.unflatten(-1, (len(gates), -1)) * gates[:, None]).flatten(-2),)

    gates: dict[str, Tensor] = {}
    hooks = []
    for name, attention in attentions(model).items():
        gates[name] = torch.ones(attention.heads, dtype=attention.out.weight.dtype, device=attention.out.weight.device)
        hooks.append(attention.out.register_forward_pre_hook(partial(multiply, gates[name])))
    try:
        yield gates
    finally:
        for hook in hooks:
            hook.remove()


def head_importance(model: nn.Module, documents: Iterable[Batch], check: Check = no_op) -> dict[str, Tensor]:
    """Estimate the importance of every head.

    Args:
        model: Model in evaluation mode that scores references, on the device of the documents.
        documents: Batches of one document with its reference each, at least one.
        check: Called before each document.

    Returns:
        Importance of the heads of each attention by its name, (heads,), on the CPU; squares sum to 1, or all are 0.

    Raises:
        ValueError: If there are no documents.
    """
    with head_gates(model) as gates:
        sums = {name: torch.zeros(len(gate), dtype=torch.float64) for name, gate in gates.items()}
        for gate in gates.values():
            gate.requires_grad_()
        count = 0
        for batch in documents:
            check()
            count += 1
            assert batch.target is not None, "documents have references"
            with torch.enable_grad():
                scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
                loss = scores.nll / (batch.target != batch.pad).sum()
                gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
            for name, gradient in zip(gates, gradients, strict=True):
                if gradient is not None:
                    sums[name] += gradient.abs().double().cpu()
    if not count:
        raise ValueError("documents must not be empty, got none")
    means = {name: total / count for name, total in sums.items()}
    return {name: mean / (float(mean.norm()) or 1) for name, mean in means.items()}  # zeros stay zeros


def train_gates(
    model: nn.Module, documents: Iterable[Batch], penalty: float, check: Check = no_op
) -> dict[str, Tensor]:
    """Train a Hard Concrete gate of every head, by Adam and an update for each document.

    Args:
        model: As in `head_importance`.
        documents: Batches of documents with their references.
        penalty: Weight of the expected number of open gates, in nats per target token.
        check: Called before each update.

    Returns:
        Probability that the gates of each attention are open, by its name, (heads,), on the CPU.
    """
    generator = torch.Generator().manual_seed(0)
    with head_gates(model) as gates:
        parameters = [torch.full_like(gate, _GATE_START, requires_grad=True) for gate in gates.values()]
        optimizer = torch.optim.Adam(parameters, lr=_GATE_RATE)
        for batch in documents:
            check()
            assert batch.target is not None, "documents have references"
            with torch.enable_grad():
                for gate, parameter in zip(gates.values(), parameters, strict=True):
                    uniform = torch.rand(gate.shape, generator=generator).to(gate).clamp(1e-6, 1 - 1e-6)
                    gate.detach_().copy_(hard_concrete(parameter, uniform))
                scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
                loss = scores.nll / (batch.target != batch.pad).sum()
                loss = loss + penalty * torch.stack([open_probability(part).sum() for part in parameters]).sum()
                gradients = torch.autograd.grad(loss, parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            optimizer.step()
        return {name: open_probability(part).detach().cpu() for name, part in zip(gates, parameters, strict=True)}


def hard_concrete(parameter: Tensor, uniform: Tensor) -> Tensor:
    """Return gates in [0, 1] from the logarithms of their locations and uniform random numbers, (heads,) each."""
    concrete = torch.sigmoid((uniform.logit() + parameter) / _TEMPERATURE)
    return (concrete * (_HIGH - _LOW) + _LOW).clamp(0, 1)


def open_probability(parameter: Tensor) -> Tensor:
    """Return the probability that a Hard Concrete gate is not 0."""
    return torch.sigmoid(parameter - _TEMPERATURE * math.log(-_LOW / _HIGH))


def unmasked_heads(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """Indices of the heads of each attention that are not masked, by its name."""
    return {
        name: tuple(_by_head(attention).any(2).any(0).nonzero()[:, 0].tolist())
        for name, attention in attentions(model).items()
    }


def choose_heads(
    importance: Mapping[str, Tensor], heads: Mapping[str, Sequence[int]], share: float
) -> dict[str, tuple[int, ...]]:
    """Choose the heads to mask: the least important ones of the whole model, but for one of each attention.

    Args:
        importance: Importance of the heads of each attention by its name, (heads,).
        heads: Indices of the heads to choose from, by the name of the attention.
        share: Share of these heads to mask, rounded to the nearest number.

    Returns:
        Indices of the heads to mask, by the name of the attention.

    Raises:
        ValueError: If the share masks no head, or more than can be masked.
    """
    total = sum(map(len, heads.values()))
    count = round(share * total)
    most = total - sum(len(indices) > 0 for indices in heads.values())
    if not 0 < count <= most:
        rule = f"mask 1 to {most} of {total} heads, as every attention keeps one"
        raise ValueError(f"the share of heads must {rule}, got {share:g}, which are {count}")
    masked: dict[str, list[int]] = {name: [] for name in heads}
    ranked = sorted((float(importance[name][head]), name, head) for name in heads for head in heads[name])
    for _, name, head in ranked:
        if count and len(masked[name]) + 1 < len(heads[name]):
            masked[name].append(head)
            count -= 1
    return {name: tuple(sorted(indices)) for name, indices in masked.items()}


@torch.no_grad()
def mask_heads(model: nn.Module, masked: Mapping[str, Sequence[int]]) -> None:
    """Set the outputs of heads, whose indices are given by the name of their attention, to 0 in place."""
    for name, attention in attentions(model).items():
        _by_head(attention)[:, list(masked.get(name, ()))] = 0.0


def _by_head(attention: HeadedAttention) -> Tensor:
    """View of the output projection by heads, (dim, heads, head_dim)."""
    by_head: Tensor = attention.out.weight.unflatten(1, (attention.heads, -1))
    return by_head
