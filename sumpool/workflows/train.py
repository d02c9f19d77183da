"""`sumpool train`: a recipe in, a run folder with a trained model out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import torch

from sumpool.bench.measures.memory import peak
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.encoding import PHRASES
from sumpool.data.prepare import prepare
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.evaluation.scorer import SummaryScorer
from sumpool.inference.generation import Generator
from sumpool.inference.loading import RUNS, choose_lengths
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent
from sumpool.recipe.schema import Recipe
from sumpool.runs.init_from import take_weights
from sumpool.runs.model_card import write_model_card
from sumpool.runs.run_folder import claim, exclusive, finish, is_finished, open_run
from sumpool.text.load import load_tokenizer
from sumpool.text.phrases import Phrases
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.data_order import TrainingData
from sumpool.training.fit import CHECKPOINTS, fit
from sumpool.training.hardware import autocast, choose_device, choose_precision, reproducible
from sumpool.training.optimizer import build_optimizer
from sumpool.training.trainable import freeze
from sumpool.training.update import Updater
from sumpool.training.validation import validation_batches


@dataclass(frozen=True)
class DryRun:
    """What training would take.

    Attributes:
        parameters: Numbers that the model learns.
        documents: Documents of the longest batch.
        source_tokens: Tokens of its longest document.
        target_tokens: Tokens of its longest summary, the end included.
        seconds: Time of an update made of such batches.
        peak_memory: Bytes that an update needs beside weights and moments; None where nobody can know.
        device: Where it was tried.
    """

    parameters: int
    documents: int
    source_tokens: int
    target_tokens: int
    seconds: float
    peak_memory: int | None
    device: str


@dataclass(frozen=True)
class _Materials:
    """Everything that is made from recipe and prepared data before the first update."""

    prepared: Path
    data_report: DataReport
    tokenizer: Tokenizer
    shard: Shard
    material: TrainingData
    model: SummarizationModel


def train(recipe: Recipe, out: Path | None = None, *, report: Report = silent, check: Check = go_on) -> Path:
    """Train a model, or go on with a run that was stopped.

    Args:
        recipe: The recipe.
        out: The run folder; runs/NAME of the recipe by default.
        report: Hears how it goes.
        check: Called where the work may stop.

    Returns:
        The run folder.

    Raises:
        RecipeError: If the recipe does not fit the machine, the model, or the run that is in the folder or begun with.
        DataError: If the data cannot be used.
        CheckpointError: If the run folder is damaged or in use, or the one that it begins with is.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; the work is saved.
    """
    run = out or RUNS / recipe.name
    # 1. What it takes: a device, prepared data, a model with its first weights.
    choose_device(recipe.train.device)
    materials = _gather(recipe, report, check)
    if recipe.train.init_from and not Checkpoints(run / CHECKPOINTS, recipe.train.keep).steps():
        take_weights(materials.model, recipe.train.init_from, materials.prepared, report)
    freeze(materials.model, recipe.train.trainable)
    # 2. A run folder of this recipe and this data, for this process alone.
    claim(run)
    with exclusive(run):
        if is_finished(open_run(run, recipe, materials.prepared), recipe):
            report(Progress("train", note=f"{run} is finished; nothing is left to do"))
            return run
        # 3. Updates, validations and checkpoints until the end.
        score = _sampled_rouge(recipe, materials, check)
        state = fit(materials.model, recipe.train, materials.material, run, score=score, report=report, check=check)
        # 4. What the model is, for whoever finds it.
        write_model_card(run, recipe, materials.model, state)
        finish(run, state)
    return run


def dry_run(recipe: Recipe, *, report: Report = silent, check: Check = go_on) -> DryRun:
    """Try a recipe: check it and the data, and make one update with the longest batch; nothing is kept.

    Args:
        recipe: The recipe.
        report: Hears how it goes.
        check: Called where the work may stop.

    Raises:
        RecipeError: If the recipe does not fit the machine or the model.
        DataError: If the data cannot be used.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    config, device = recipe.train, choose_device(recipe.train.device)
    materials = _gather(recipe, report, check)
    material, model = materials.material, materials.model.to(device)
    batch = material.batch(material.training, material.plan(config.batch_tokens).longest())
    updater = Updater(model, build_optimizer(model, config), config, device)

    def update() -> None:
        updater.update([batch], rate=0.0).read()

    report(Progress("dry run", note="trying the longest batch"))
    with reproducible(device):
        update()  # the first one also prepares memory and kernels
        start = time.perf_counter()
        memory = peak(update, device)
        seconds = time.perf_counter() - start
    assert batch.target is not None
    return DryRun(
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        documents=len(batch.documents),
        source_tokens=batch.ids.size(1),
        target_tokens=batch.target.size(1),
        seconds=seconds * config.accumulate,
        peak_memory=memory,
        device=str(device),
    )


def _gather(recipe: Recipe, report: Report, check: Check) -> _Materials:
    """Prepare the data if that is not done, and build the model; the same seed gives the same first weights."""
    prepared = recipe.prepared_folder
    data_report = prepare(recipe.data, prepared, skip_bad_rows=False, report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    training, validation = (Shard.open(prepared, split) for split in ("train", "validation"))
    torch.manual_seed(recipe.seed)
    word_starts = torch.tensor(tokenizer.word_starts())
    model = SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)
    model.checkpoint_activations(recipe.train.checkpoint_activations)
    return _Materials(
        prepared=prepared,
        data_report=data_report,
        tokenizer=tokenizer,
        shard=validation,
        material=TrainingData(
            training=training,
            validation=validation,
            source_length=recipe.model.source_length,
            target_length=recipe.model.target_length,
            seed=recipe.seed,
            phrases=Phrases.load(prepared / PHRASES) if recipe.data.phrases else None,
            special_tokens=tokenizer.special_tokens,
        ),
        model=model,
    )


def _sampled_rouge(recipe: Recipe, materials: _Materials, check: Check) -> Callable[[], dict[str, float]] | None:
    """Score summaries of some validation documents with the model as it is; greedy search, for it is often asked."""
    config = recipe.train.model_copy(update={"validate_documents": recipe.train.rouge_documents})
    if not recipe.train.rouge_documents:
        return None
    tokens = materials.data_report.splits["train"].summary_tokens
    lengths = choose_lengths(recipe.summarize, tokens.mean, tokens.p90, recipe.model.target_length)
    greedy = recipe.summarize.model_copy(update={"beams": 1})
    writer = Generator(materials.model, materials.tokenizer, greedy, lengths)
    rouge = SummaryScorer(recipe.evaluate).rouge
    device = choose_device(config.device)
    shard = materials.shard

    def score() -> dict[str, float]:
        found = []
        for numbers in validation_batches(materials.material, config):
            check()
            with autocast(device, choose_precision(config.precision, device)):
                written = writer.write([shard[number] for number in numbers])
            for number, summary in zip(numbers, written, strict=True):
                found.append(rouge.score(summary.text, shard.text(number).summary))
        return {name: 100 * fmean(scores[name].f1 for scores in found) for name in ("rouge1", "rouge2", "rougeLsum")}

    return score
