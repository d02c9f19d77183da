"""Time and memory of a training step against the shortening factor (Nawrot et al., Figure 5).

The model is the paper's, a language model of 2 + 8 + 2 layers over 2,048 characters: the eight in the middle see one
vector for every `factor` characters, and the last two every character again. Without shortening it is measured twice,
the second time with stored attention weights as in the released code, to which a second table compares.
"""

from collections.abc import Sequence
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


Variant = tuple[int, bool]
"""Shortening factor, and whether attention weights are stored."""


def measure_shortening(
    settings: ShorteningConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure a training step at every shortening factor, in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    variants: list[Variant] = [(1, True), *((factor, False) for factor in sorted({1, *settings.factors}))]
    tasks = {variant: training_step(*variant, settings, here) for variant in variants}
    steps = Steps(len(tasks) * (settings.repeats + 2), report, check)
    memory: dict[Variant, tuple[int | None, str]] = {}
    cheapest_first = sorted(tasks, reverse=True, key=lambda variant: (not variant[1], variant[0]))
    fits(tasks[cheapest_first[0]])  # so that libraries are warm
    for variant in cheapest_first:
        steps()
        memory[variant] = try_peak(tasks[variant], here.device)
    fitting = {variant: work for variant, work in tasks.items() if not memory[variant][1]}
    timings = interleave(fitting, settings.repeats, here.device, steps)
    steps.finish()
    rows = {
        variant: Row({"factor": variant[0], "memory": memory[variant][0]}, timings.get(variant), memory[variant][1])
        for variant in tasks
    }
    result = shortening_result([row for (_, stored), row in rows.items() if not stored], settings)
    compared = compare_to_stored(result.rows["shortening"], rows[1, True], settings)
    table = make_table("stored_attention", compared, settings.model_dump())
    return Result({**result.rows, "stored_attention": compared}, [*result.tables, table])


def training_step(factor: int, stored: bool, settings: ShorteningConfig, conditions: Conditions) -> Work:
    """Build the language model with segments of `factor` tokens, and return its forward and backward pass."""
    torch.manual_seed(conditions.seed)
    config = LanguageModelConfig(
        **settings.model_dump(include={"dim", "heads", "feed_forward", "length"}),
        layers=(FIRST, MIDDLE, LAST) if factor > 1 else (FIRST + MIDDLE + LAST,),
        boundaries=(FixedBoundariesConfig(size=factor),) if factor > 1 else (),
        store_attention=stored,
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


def compare_to_stored(rows: Sequence[Row], stored: Row, settings: ShorteningConfig) -> list[Row]:
    """Rows by factor, with time and memory in proportion to stored weights without shortening, and multiplications."""
    plain = multiplications(1, settings)
    return [
        Row(
            {
                "factor": row["factor"],
                "multiplications": multiplications(row["factor"], settings) / plain,
                "time_stored": quotient(row["median"], stored["median"]),
                "memory_stored": quotient(row["memory"], stored["memory"]),
                "memory": row["memory"],
            },
            row.timing,
            row.note,
        )
        for row in [stored, *rows]
    ]


def multiplications(factor: int, settings: ShorteningConfig) -> float:
    """Multiplications of a training step in the layers, for one text: forward, and twice as many backward.

    A layer has 4 dim^2 in projections and 2 dim * feed_forward for each position, and 3 dim for each pair of a position
    and one before it: contents, distances and values, whose backward pass computes the first two again.
    """
    total = 0.0
    for layers, length in ((FIRST + LAST, settings.length), (MIDDLE, settings.length / factor)):
        weights = 4 * settings.dim**2 + 2 * settings.dim * settings.feed_forward
        total += layers * length * (3 * weights + 11 * settings.dim * length / 2)
    return total


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
