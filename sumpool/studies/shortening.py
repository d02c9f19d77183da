"""Time and memory of a training step against the shortening factor (Nawrot et al., Figure 5).

The model is the paper's, a language model of 2 + 8 + 2 layers over 2,048 characters: the eight in the middle see one
vector for every `factor` characters, and the last two every character again. The released code stores attention
weights for the backward pass, in memory quadratic in the length; ours computes them again.
"""

from dataclasses import replace

import torch

from sumpool.bench.measures import Steps, Work, interleave
from sumpool.bench.results import Result, Row, quotient
from sumpool.bench.workload import Conditions
from sumpool.core.boundaries.fixed import FixedBoundariesConfig
from sumpool.progress import Check, Report, no_op
from sumpool.special_tokens import PARAGRAPH
from sumpool.studies.config import ShorteningConfig
from sumpool.studies.study import make_table
from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.training.hardware import fits, try_peak

FIRST, MIDDLE, LAST = 2, 8, 2
"""Layers before the pooling, after it, and at full length again."""
PUBLISHED = {2: (0.56, 0.57), 4: (0.40, 0.47)}
"""Time and memory in proportion to no shortening, from the paper's section 5, which has no other figures."""


def measure_shortening(
    settings: ShorteningConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure a training step at every shortening factor, in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    tasks = {factor: training_step(factor, settings, here) for factor in sorted({1, *settings.factors})}
    steps = Steps(len(tasks) * (settings.repeats + 2), report, check)
    memory: dict[int, tuple[int | None, str]] = {}
    fits(tasks[max(tasks)])  # the cheapest, so that libraries are warm
    for factor in sorted(tasks, reverse=True):
        steps()
        memory[factor] = try_peak(tasks[factor], here.device)
    fitting = {factor: work for factor, work in tasks.items() if not memory[factor][1]}
    timings = interleave(fitting, settings.repeats, here.device, steps)
    steps.finish()
    rows = [
        Row({"factor": factor, "memory": memory[factor][0]}, timings.get(factor), memory[factor][1]) for factor in tasks
    ]
    return shortening_result(rows, settings)


def training_step(factor: int, settings: ShorteningConfig, conditions: Conditions) -> Work:
    """Build the language model with segments of `factor` tokens, and return its forward and backward pass."""
    torch.manual_seed(conditions.seed)
    config = LanguageModelConfig(
        **settings.model_dump(include={"dim", "heads", "feed_forward", "length"}),
        layers=(FIRST, MIDDLE, LAST) if factor > 1 else (FIRST + MIDDLE + LAST,),
        boundaries=(FixedBoundariesConfig(size=factor),) if factor > 1 else (),
    )
    language_model = LanguageModel(config, settings.vocabulary).to(conditions.device).train()
    shape = (settings.batch, settings.length + 1)
    ids = torch.randint(PARAGRAPH + 1, settings.vocabulary, shape, device=conditions.device)

    def work() -> None:
        with conditions.autocast():
            scores = language_model(ids[:, :-1], ids[:, :-1] > 0, ids[:, :-1], ids[:, 1:])[0]
        torch.autograd.backward(scores.nll / scores.log_prob.numel())
        language_model.zero_grad(set_to_none=True)

    return work


def shortening_result(rows: list[Row], settings: ShorteningConfig) -> Result:
    """Table of time and memory by factor, in proportion to the first row, which does not shorten."""
    compared = []
    for row in rows:
        time, memory = PUBLISHED.get(row["factor"], (None, None))
        ratios = {
            "time_ratio": quotient(row["median"], rows[0]["median"]),
            "memory_ratio": quotient(row["memory"], rows[0]["memory"]),
        }
        compared.append(row.also({**ratios, "paper_time": time, "paper_memory": memory}))
    left_out = [f"{row['factor']} was left out: {row.note}" for row in rows if row.note]
    table = make_table("shortening", compared, settings.model_dump(), notes=left_out)
    return Result({"shortening": compared}, [table])
