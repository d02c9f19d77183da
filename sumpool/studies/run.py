"""Studies from their settings to their reports."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sumpool.bench.config import split_overrides
from sumpool.bench.results import UNFINISHED, BenchReport, Result
from sumpool.bench.workload import NAMES, Conditions
from sumpool.inference.loading import load_model
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.studies import config
from sumpool.studies.attentions import measure_approximations, measure_attention_costs, trained_inputs
from sumpool.studies.complexity import count_complexity
from sumpool.studies.heads import measure_heads
from sumpool.studies.language_models import study_language_models
from sumpool.studies.lra.study import study_lra
from sumpool.studies.operators import measure_operators
from sumpool.studies.sparsity import measure_sparsity, selection_losses, sentence_attention, validation_batches
from sumpool.studies.study import Steps, load_study
from sumpool.studies.tables import VOCABULARY, measure_tables
from sumpool.studies.training_steps import measure_depth, measure_shortening
from sumpool.training.hardware import choose_device, choose_precision

SUITES: Mapping[str, tuple[type[Any], Callable[..., Result]]] = {
    "operators": (config.OperatorsConfig, measure_operators),
    "complexity": (config.ComplexityConfig, count_complexity),
    "tables": (config.TablesConfig, measure_tables),
    "shortening": (config.ShorteningConfig, measure_shortening),
    "approximation": (config.ApproximationConfig, measure_approximations),
    "attentions": (config.AttentionsConfig, measure_attention_costs),
    "depth": (config.DepthConfig, measure_depth),
    "sparsity": (config.SparsityConfig, measure_sparsity),
    "heads": (config.HeadsConfig, measure_heads),
}
"""Settings and measure of each study that needs no recipe; `approximation` may have a run."""
_OF_RUN = ("sparsity", "heads")
"""Those that need a run."""
_UNTIMED = ("operators", "complexity", "approximation")
"""Studies in which no matrix products are timed: always in float32."""
_TRAINING = {"lra": study_lra, "language-models": study_language_models}
"""Studies that train models of their own."""


def run_study(
    name: str,
    target: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> BenchReport:
    """Run a study.

    Args:
        name: Its name.
        target: The run folder of "sparsity" and "heads", where None takes the newest run; or of "approximation".
        overrides: Settings to change, each like `study.batch=8`, or `data.prepared=folder` of a run.
        report: Receives progress.
        check: Called between repetitions; when it raises, nothing is kept, or the runs so far.

    Raises:
        RecipeError: If a setting is wrong, or does not fit the machine; or if a library is missing.
        CheckpointError: If a run is missing, unfinished or damaged.
        DataError: If a tokenizer or prepared data is missing, damaged or other data.
        NonFiniteError: If a loss is not finite.
        Interrupted: If a signal has come.
    """
    with told_when_stopped("the runs so far are kept" if name in _TRAINING else UNFINISHED):
        if name in _TRAINING:
            return _TRAINING[name](overrides, report, check)
        schema, measure = SUITES[name]
        has_run = bool(target) or name in _OF_RUN
        of_run, overrides = split_overrides(overrides, ("data.",) if has_run else ())
        settings = load_study(name, schema, overrides)
        study = settings.study
        loaded = load_model(target, [*of_run, f"summarize.device={settings.train.device}"]) if has_run else None
        device = loaded.device if loaded else choose_device(settings.train.device)
        precision = torch.float32 if name in _UNTIMED else choose_precision(settings.train.precision, device)
        vocabulary = loaded.tokenizer.vocab_size if loaded else VOCABULARY
        kept = {"study": study.model_dump(), "seed": settings.seed}
        if loaded:
            kept["model"] = loaded.recipe.model.model_dump()
            if name == "heads":
                measure = partial(measure, loaded)
            elif name == "sparsity":
                losses = selection_losses(loaded, study.documents, study.loss_sentences, check)
                batches = validation_batches(loaded, study.documents)
                attention = (sentence_attention(loaded.model, batch.to(device))[0] for batch in batches)
                measure = partial(measure, attention, losses, loaded.recipe.model)
            else:
                measure = partial(measure, trained=[*trained_inputs(loaded, study.documents)])
        conditions = Conditions(vocabulary, device, precision, settings.seed)
        steps = Steps(report, check)
        result = measure(study, conditions, steps)
        report(Progress("bench", steps.total, steps.total))
        recipe = loaded.recipe.name if loaded else ""
        return BenchReport(recipe, name, device.type, NAMES[precision], kept, result)
