"""Time and memory of every self-attention by document length, beside counted operations.

A measurement is a forward and a backward pass of one layer of one document without padding. Costs are fitted as
constant * length ** exponent; the constant is given as the fitted cost of the first length.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sumpool.bench.measures import Steps, clock, count, growth_exponent
from sumpool.bench.results import Result, Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.tokens import Tokens
from sumpool.progress import Check, Report, no_op
from sumpool.settings import config_class, kinds
from sumpool.studies.config import AttentionsConfig
from sumpool.studies.study import make_table
from sumpool.training.hardware import available, try_peak

_PACKAGE = "sumpool.core.attention"
_GROWTH = 4.5
"""Cost of twice the length, at most about."""
_SHARE = 0.4
"""Share of the free memory that a measurement may take."""
_COSTS = ("seconds", "memory", "operations")
SWEEP = {f"neighborhood, r = {radius}": {"kind": "neighborhood", "radius": radius} for radius in (25, 50, 100, 200)} | {
    f"convolutional, kernel {kernel}, stride {stride}": {"kind": "convolutional", "kernel": kernel, "stride": stride}
    for kernel, stride in ((3, 1), (3, 2), (3, 3), (5, 3), (5, 5), (9, 9))
}
SWEEP["both, 3 / 3, r = 33 phrases"] = {"kind": "convolutional", "radius": 33}
"""Rows of `study.sweep`: what paper 5 wants to vary and combine, beside its r = 100 and 3 / 3."""


def measure_attention_costs(
    settings: AttentionsConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure every attention, from the shortest document to the longest that time and memory allow."""
    names = [*SWEEP] if settings.sweep else kinds(_PACKAGE)
    steps = Steps(len(names), report, check)
    rows, fits = [], []
    for name in names:
        steps()
        measured = list(_measure_kind(name, settings, conditions, check))
        rows += measured
        fits.append(fit_row(name, measured))
    steps.finish()
    facts = settings.model_dump() | {"first": min(settings.lengths)}
    tables = [make_table("attention_costs", fits, facts), make_table("attention_lengths", rows, facts)]
    return Result({"attention_costs": fits, "attention_lengths": rows}, tables)


def attention_config(name: str, length: int, heads: int) -> AttentionConfig:
    """Return the settings of a row, an attention with its defaults or one of `SWEEP`.

    It has room for the document and no more local heads than heads.
    """
    settings = SWEEP.get(name, {"kind": name})
    config = config_class(_PACKAGE, str(settings["kind"]))
    sizes = {"length": length, "local_heads": min(2, heads - 1)}
    attention = config.model_validate(settings | {n: s for n, s in sizes.items() if n in config.model_fields})
    assert isinstance(attention, AttentionConfig)
    return attention


def fit_row(name: str, measured: Sequence[Row]) -> Row:
    """Fit exponents, and costs of the first length, to the rows of an attention."""
    lengths = [row["length"] for row in measured]
    values: dict[str, Any] = {"name": name, "longest": max(lengths, default=None)}
    for cost in _COSTS:
        costs = [row[cost] for row in measured]
        if not costs or None in costs:
            continue
        values[f"{cost}_exponent"] = exponent = growth_exponent(lengths, costs)
        if exponent is not None:
            offsets = np.log(costs) - exponent * np.log(np.array(lengths) / lengths[0])
            values[f"{cost}_constant"] = float(np.exp(offsets.mean()))
    return Row(values)


def _measure_kind(name: str, settings: AttentionsConfig, conditions: Conditions, check: Check) -> Iterator[Row]:
    """Measure one attention until a longer document would take too long or too much memory."""
    for length in sorted(settings.lengths):
        row = _measure_length(name, length, settings, conditions, check)
        if row.note:
            return
        yield row
        memory = (row["memory"] or 0) * _GROWTH
        if row["seconds"] * _GROWTH > settings.seconds or memory > _SHARE * available(conditions.device):
            return


def _measure_length(name: str, length: int, settings: AttentionsConfig, conditions: Conditions, check: Check) -> Row:
    """Measure a forward and a backward pass, the fastest of the repetitions, after one for the memory."""
    torch.manual_seed(conditions.seed)
    config = attention_config(name, length, settings.heads)
    attention: Attention = config.build(settings.dim, settings.heads).to(conditions.device)
    states = torch.randn(1, length, settings.dim, device=conditions.device, requires_grad=True)
    tokens = Tokens.of_states(states)

    def forward() -> Tensor:
        with conditions.autocast():
            output: Tensor = attention(tokens)
        return output

    def work() -> None:
        forward().float().sum().backward()
        attention.zero_grad()
        states.grad = None

    attention.eval()  # the update of centroids is no part of a forward pass
    with torch.no_grad():
        operations = count(forward)
    attention.train()
    work()  # what libraries keep from their first call is no cost of the length
    memory, note = try_peak(work, conditions.device)
    if note:
        return Row({"name": name, "length": length}, note=note)
    seconds = []
    for _ in range(settings.repeats):
        check()
        seconds.append(clock(work, conditions.device))
    values = {"name": name, "length": length, "operations": operations}
    return Row({**values, "seconds": min(seconds), "memory": memory or None})
