"""Tables of a model beside its baselines and peers, with shares of what the machine can do."""

from collections.abc import Iterator, Sequence
from typing import Any

from sumpool.bench.measures.machine import COPY, READ, product_name
from sumpool.bench.measures.statistics import growth_exponent
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import NOISY, Row, Table, make_table, pooled, quotient, significant, unique, where

MODEL = "model"
"""Name of the system that all others are compared to."""
TITLES = {
    "encode": "encoding",
    "train": "training step, forward and backward",
    "generate": "encoding and generating {generate} tokens with {beams} beams",
}
_COSTS = {"seconds": "median", "bytes": "memory", "operations": "operations"}
_NOISY = f"?: slowest over fastest above {NOISY}; measure again on a quiet machine"


def model_result(
    rows: Sequence[Row], machine: Sequence[Row], generate: int, beams: int, facts: dict[str, Any] | None = None
) -> Result:
    """Tables of measured rows: the machine, the models, each workload, decoding steps, and growth."""
    rows = [row.also({"utilization": _utilization(row, machine)}) for row in rows]
    tables = [make_table("machine_speed", [*_machine_rows(machine)])] if machine else []
    longest = {row["model"]: row for row in sorted(rows, key=lambda row: row["length"]) if row["output_lengths"]}
    if longest:
        tables.append(make_table("models", [longest[name] for name in unique(rows, "model") if name in longest]))
    for workload, title in TITLES.items():
        measured = where(rows, {"workload": workload})
        if measured:
            tables.append(_workload_table(title.format(generate=generate, beams=beams), measured))
    steps = [*step_rows(rows, machine, generate)]
    if steps:
        tables.append(make_table("steps", _compared(steps), {"batch": steps[0]["batch"]}, notes=_noise(steps)))
    growth = [*growth_rows(rows)]
    if growth:
        tables.append(make_table("growth", growth))
    return Result({"models": rows, "machine_speed": machine}, tables, facts or {})


def step_rows(rows: Sequence[Row], machine: Sequence[Row], tokens: int) -> Iterator[Row]:
    """Decoding steps: what generation takes more than encoding, per token, where both were measured."""
    encoded = {(row["model"], row["length"]): row for row in where(rows, {"workload": "encode"})}
    for row in where(rows, {"workload": "generate"}):
        encoding = encoded.get((row["model"], row["length"]))
        if not encoding or not row.timing or not encoding.timing or row["median"] <= encoding["median"]:
            continue
        seconds, needed = (row["median"] - encoding["median"]) / tokens, row["step_bytes"]
        values = {name: row[name] for name in ("model", "length", "batch", "step_bytes")}
        bandwidth = quotient(quotient(needed, seconds), _speed(machine, row["length"], READ, COPY))
        spread = max(row["spread"], encoding["spread"])
        yield Row({**values, "median": seconds, "spread": spread, "bandwidth": bandwidth})


def growth_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Exponents of time, memory and operations of each workload, for models measured at three lengths or more."""
    for workload, model in dict.fromkeys((row["workload"], row["model"]) for row in rows):
        values: dict[str, Any] = {}
        measured = where(rows, {"workload": workload, "model": model})
        for cost, name in _COSTS.items():
            points = {row["length"]: row[name] for row in measured if row[name] is not None}
            exponent = growth_exponent(list(points), list(points.values()))
            if exponent is not None:
                values = {"lengths": f"{min(points):,} to {max(points):,}"} | values | {cost: exponent}
        if values:
            yield Row({"workload": workload, "model": model, **values})


def _utilization(row: Row, machine: Sequence[Row]) -> float | None:
    """Operations per second over those of a large product in the same precision and the same turns."""
    speed = _speed(machine, row["length"], product_name(row["precision"]))
    return quotient(quotient(row["operations"], row["median"]), speed)


def _speed(machine: Sequence[Row], length: int, *rates: str) -> float | None:
    """Highest of some rates, per second, while a length was measured; None if none of them was measured."""
    speeds = (row["amount"] / row["median"] for row in where(machine, {"length": length}) if row["rate"] in rates)
    return max(speeds, default=None)


def _machine_rows(machine: Sequence[Row]) -> Iterator[Row]:
    """Speed of the machine, medians over all lengths."""
    for rate in unique(machine, "rate"):
        measured = where(machine, {"rate": rate})
        timing = pooled(measured)
        unit = "Gop/s" if rate.endswith("products") else "GB/s"
        speed = f"{significant(measured[0]['amount'] / timing.median / 1e9)} {unit}"
        yield Row({"rate": rate, "speed": speed}, timing)


def _workload_table(title: str, rows: Sequence[Row]) -> Table:
    """One workload, by length and system."""
    timed = []
    for row in rows:
        if row.timing:
            documents = row["batch"] / row["median"]
            speeds = {"documents_per_second": documents, "tokens_per_second": documents * row["length"]}
            timed.append(row.also({**speeds, "memory_over_weights": quotient(row["memory"], row["weights"])}))
    notes = [*_left_out(rows)]
    if timed:
        counts = sorted({len(row.timing.seconds) for row in timed if row.timing})
        medians = f"medians of {counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''} repetitions"
        notes.append(f"{medians if counts[-1] > 1 else 'single repetitions'}; x {MODEL}: time over that of the {MODEL}")
    if any(row["utilization"] is not None for row in timed):
        notes.append("utilization: operations per second over those of a large product in the same precision")
    notes += _precisions(timed)
    facts = {"title": title, "batch": rows[0]["batch"]}
    return make_table("workload", _compared(timed), facts, notes=[*notes, *_noise(timed)])


def _compared(rows: Sequence[Row]) -> list[Row]:
    """Add times over those of the model, and whether noise may explain them."""
    base = {row["length"]: row for row in where(rows, {"model": MODEL})}
    compared = []
    for row in rows:
        model = base.get(row["length"])
        times = None
        if model:
            noisy = row["model"] != MODEL and max(row["spread"], model["spread"]) > NOISY
            times = (row["median"] / model["median"], noisy)
        compared.append(row.also({"times": times}))
    return compared


def _precisions(rows: Sequence[Row]) -> list[str]:
    """Return the precision of each system, where they differ."""
    systems = {row["model"]: row["precision"] for row in rows if row["precision"]}
    named = (f"{name} {precision}" for name, precision in systems.items())
    return [f"precision: {', '.join(named)}"] if len(set(systems.values())) > 1 else []


def _noise(rows: Sequence[Row]) -> list[str]:
    return [_NOISY] if any(row["spread"] > NOISY for row in rows) else []


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    """Missing lengths of each system and the reason; where all longer ones are missing too, the shortest says it."""
    for model in unique((row for row in rows if row.note), "model"):
        lengths = where(rows, {"model": model})
        missing = [row for row in lengths if row.note]
        if len(missing) == len(lengths):
            place = ""
        elif len(missing) > 1 and missing == lengths[-len(missing) :]:
            place = f" from {missing[0]['length']:,} tokens on"
        else:
            place = f" at {', '.join(format(row['length'], ',') for row in missing)} tokens"
        yield f"{model} was left out{place}: {missing[0].note}"
