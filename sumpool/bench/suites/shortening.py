"""Time and memory of a training step against the shortening factor (Nawrot et al., Figure 5).

The paper's is a language model of 2 + 8 + 2 layers over 2,048 characters: the eight in the middle see one vector for
every `factor` characters, and the last two every character again. This one is an encoder-decoder: an encoder of 2 + 8
layers with mean pooling between them, and a decoder of two layers that is as long as the source by default. It differs
in that the decoder also attends to the memory, which is as short as the pooling leaves it, and in that the encoder is
not causal.
"""

from dataclasses import replace
from functools import partial

from sumpool.bench.config import ShorteningConfig
from sumpool.bench.measures.timing import Steps, interleave
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, make_table, quotient
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Check, Report, go_on, silent
from sumpool.training.memory import fits, try_peak

FIRST, MIDDLE, LAST = 2, 8, 2
"""Layers before the pooling, after it, and of the decoder."""
PUBLISHED = {2: (0.56, 0.57), 4: (0.40, 0.47)}
"""Time and memory in proportion to no shortening, from the paper's section 5, which has no other figures."""


def measure_shortening(
    settings: ShorteningConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> Result:
    """Measure a training step at every shortening factor, in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    documents = Documents.random(settings.batch, settings.length, settings.target, here)
    factors = sorted({1, *settings.factors})
    tasks = {factor: partial(Subject(model(factor, settings), here).train, documents) for factor in factors}
    steps = Steps(len(factors) * (settings.repeats + 2), report, check)
    memory: dict[int, tuple[int | None, str]] = {}
    fits(tasks[factors[-1]])  # the cheapest first, so that libraries are warm
    for factor in reversed(factors):
        steps()
        memory[factor] = try_peak(tasks[factor], here.device)
    fitting = {factor: work for factor, work in tasks.items() if not memory[factor][1]}
    timings = interleave(fitting, settings.repeats, here.device, steps)
    steps.finish()
    rows = [
        Row({"factor": factor, "memory": memory[factor][0]}, timings.get(factor), memory[factor][1])
        for factor in factors
    ]
    return shortening_result(rows, settings)


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


def model(factor: int, settings: ShorteningConfig) -> ModelConfig:
    """Build the model that pools by this factor; by 1 it does not pool."""
    attention = {"kind": settings.attention} | ({"block": settings.block} if settings.attention == "blockwise" else {})
    plain = {"attention": attention}
    pooled = plain | ({"pool": {"kind": "funnel", "window": factor, "stride": factor}} if factor > 1 else {})
    return ModelConfig.model_validate(
        {
            **settings.model_dump(include={"dim", "heads", "feed_forward"}),
            "norm": "post",
            "source_length": settings.length,
            "encoder": [*[plain] * (FIRST - 1), pooled, *[plain] * MIDDLE],
            "decoder": {"layers": LAST},
            "output": {"kind": "tied"},
        }
    )
