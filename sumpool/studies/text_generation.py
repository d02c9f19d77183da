"""`sumpool study generation`: speed of a trained language model's cached generation by the length of the text."""

from collections.abc import Sequence
from pathlib import Path

import torch

from sumpool.bench.config import split_overrides
from sumpool.bench.measures import Steps
from sumpool.bench.results import BenchReport, Result, make_report
from sumpool.bench.workload import Conditions
from sumpool.progress import Check, Report
from sumpool.studies.config import GenerationConfig
from sumpool.studies.generation import measure_text_generation, text_generation_table
from sumpool.studies.study import load_study
from sumpool.tasks.language_modeling.generation import load_language_model


def study_generation(run: Path | None, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Measure the cached generation of a run.

    Args:
        run: The run folder; None takes the newest run of a language model.
        overrides: Settings of the benchmark, like `study.lengths=[1024]`, and of the run.
        report: Called with progress.
        check: Called now and then; when it raises, nothing is kept.

    Raises:
        CheckpointError: If there is no language model, or it is damaged.
        RecipeError: If a setting is wrong.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    of_study, of_run = split_overrides(overrides, ("study.",))
    config = load_study("generation", GenerationConfig, of_study).study
    loaded = load_language_model(run, of_run)
    steps = Steps(config.repeats, report, check)
    vocabulary = loaded.tokenizer.vocab_size
    subject = (loaded.recipe.name, loaded.model, vocabulary)
    rows = measure_text_generation(*subject, config.lengths, config.repeats, loaded.device, steps)
    steps.finish()
    result = Result({"generation": rows}, [text_generation_table(rows)])
    conditions = Conditions(vocabulary, loaded.device, torch.float32, loaded.recipe.seed)
    settings = {"study": config.model_dump(), "model": loaded.recipe.model.model_dump(mode="json")}
    return make_report(loaded.recipe.name, "generation", conditions, settings, result)
