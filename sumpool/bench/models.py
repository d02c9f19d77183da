"""`sumpool bench`: a model, its baselines and its peers at increasing document lengths, within a time budget.

Time and memory at the next length are predicted from the lengths before it. Tables show shares of what the machine can
do.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

import torch

from sumpool.bench.config import BenchConfig, BenchSettings, Workload, split_overrides
from sumpool.bench.measures import COPY, READ, Timing, Work, clock, count, probes, profile_model
from sumpool.bench.results import (
    NOISY,
    UNFINISHED,
    BenchReport,
    Result,
    Row,
    Table,
    make_table,
    quotient,
    significant,
    unique,
    where,
)
from sumpool.bench.workload import NAMES, SIZES, WORKLOADS, Conditions, Contender, Documents, Subject, baselines
from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError
from sumpool.inference.run_files import newest_run
from sumpool.io.manifest import RUNS, run_folder
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.recipe.files import find_recipe
from sumpool.recipe.load import load_recipe, load_settings
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.hardware import (
    OUT_OF_MEMORY,
    Peak,
    available,
    choose_device,
    choose_generation_precision,
    choose_precision,
    fits,
    try_peak,
)

MODEL = "model"
"""Name of the system that all others are compared to."""
TITLES = {
    "encode": "encoding",
    "train": "training step, forward and backward",
    "generate": "encoding and generating {generate} tokens with {beams} beams",
}
_NOISY = f"?: slowest over fastest above {NOISY}; measure again on a quiet machine"

HEADROOM = 0.9
"""Share of the free memory that a benchmark may plan to use."""
FEWEST = 2
"""Counted repetitions for which there must be time, beside the first one that is not counted."""
SECONDS = {"cpu": 540.0, "cuda": 100.0}
"""Time that everything may take."""
WITH_PEERS = 6
"""Factor of that time with peers."""
FIRST = 1024
"""Length that is always tried; every cost at it is small."""
STEP = 4
"""Most that the length may grow between two attempts, so that the next one can be predicted."""
SHORT, FEW = 64, 2
"""Tokens, at most, of the document of the warm-up, and tokens that are generated for it."""
Cell = tuple[Workload, str]
"""A workload and the name of a system."""


def bench(
    target: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    peers: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> BenchReport:
    """Measure a model beside its baselines and peers: encoding, a training step and generation by length.

    Weights and documents are random.

    Args:
        target: A recipe, a run folder or "shipped". None takes the newest run, or a small built-in model.
        overrides: Settings to change, each like `bench.batch=8`.
        lengths: Source tokens; by default those of the `bench` section.
        peers: Whether models of other libraries in the same sizes take part.
        report: Receives progress.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine; or if a library is missing.
        DataError: If a tokenizer is missing or damaged.
        Interrupted: If a signal has come; nothing is kept.
    """
    named = None if target is None else find_recipe(run_folder(Path(target)))
    changes, of_recipe = split_overrides(overrides, ("bench.",))
    changes += [f"bench.lengths={list(lengths)}"] if lengths else []
    recipe, vocabulary = _recipe(named, of_recipe, report)
    settings = load_settings(recipe.name, BenchSettings[BenchConfig], {"bench": recipe.bench or {}}, changes).bench
    device = choose_device(recipe.train.device)
    conditions = Conditions(vocabulary, device, choose_precision(recipe.train.precision, device), recipe.seed)
    contenders, libraries = {}, {}
    if peers:
        from sumpool.bench.peers import build_peers, library_versions

        contenders, libraries = build_peers(recipe.model, settings, conditions, report), library_versions()
    generation = choose_generation_precision(settings.precision, device, "bench.precision")
    packed = settings.model_copy(update={"precision": generation})
    with told_when_stopped(UNFINISHED):
        result = measure_models(recipe.model, packed, conditions, contenders, report, check)
    kept = {
        "bench": settings.model_dump(),
        "model": recipe.model.model_dump(),
        "vocabulary": vocabulary,
        "recipe": recipe.model_dump(mode="json", exclude_none=True, exclude={"bench"}),
    }
    precision: str = NAMES[conditions.precision]
    if generation != precision:
        others = ", the fastest of each peer" if peers else ""
        precision = f"{generation} of encoding and generation, {precision} of training{others}"
    return BenchReport(recipe.name, "model", device.type, precision, kept, result, libraries)


def _recipe(target: Path | None, overrides: Sequence[str], report: Report) -> tuple[Recipe, int]:
    """Recipe of what is measured, and its number of tokens."""
    if target is None:
        try:
            target = newest_run()
            report(Progress("bench", note=f"measuring the newest run, {target}"))
        except CheckpointError:
            report(Progress("bench", note=f"there is no run in {RUNS}: measuring the model of the quickstart"))
            target = find_recipe(Path("quickstart"))
    recipe = load_recipe(target, overrides)
    if recipe.data.vocabulary is not None:
        return recipe, recipe.data.vocabulary
    assert recipe.data.tokenizer, "one of the two is set"
    return recipe, load_tokenizer(target if target.is_dir() else recipe.data.tokenizer).vocab_size


def measure_models(
    config: ModelConfig,
    settings: BenchConfig,
    conditions: Conditions,
    peers: Mapping[str, Contender] | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> Result:
    """Measure a model, its baselines and its peers, all in the same turns.

    A length for which memory or time may not suffice is left out with a note instead of being tried.

    Args:
        config: The model.
        settings: Lengths, workloads, batch, sizes, repetitions and time.
        conditions: Vocabulary, device, precision and seed.
        peers: Other systems by name; a workload that one cannot do is left out with its reason.
        report: Receives progress, one call for each repetition.
        check: Called between repetitions; may raise to stop.
    """
    seconds = settings.seconds
    if seconds == "auto":
        seconds = SECONDS[conditions.device.type] * (WITH_PEERS if peers else 1)
    end = time.perf_counter() + seconds
    report(Progress("bench", note=f"this takes at most about {seconds:,.0f} s; bench.seconds changes that"))
    precision = None if settings.precision == "auto" else settings.precision
    models = baselines(config, max(settings.lengths))
    chosen = [name for name in (MODEL, *settings.baselines) if name in models]
    contenders: dict[str, Contender] = {name: Subject(models[name], conditions, precision) for name in chosen}
    sweep = LengthSweep(
        contenders | dict(peers or {}), settings, conditions, lambda: end - time.perf_counter(), report, check
    )
    sweep.measure()
    rows = sorted(sweep.rows, key=lambda row: (WORKLOADS.index(row["workload"]), row["length"]))
    spent = {"total_seconds": seconds - (end - time.perf_counter())}
    return model_result(rows, sweep.machine, settings.generate, settings.beams, spent)


@final
class LengthSweep:
    """All systems, and their rows length by length.

    Attributes:
        rows: One of each system in each workload at each length that was asked for.
        machine: Speed of the machine at each of these lengths.
    """

    def __init__(
        self,
        contenders: Mapping[str, Contender],
        settings: BenchConfig,
        conditions: Conditions,
        left: Callable[[], float],
        report: Report,
        check: Check,
    ) -> None:
        """Prepare; the contender of the name `MODEL` is a `Subject`, and `left` returns the seconds that are left."""
        self.contenders, self.settings, self.conditions, self.left = contenders, settings, conditions, left
        self.report, self.check, self.device = report, check, conditions.device
        self.wanted = sorted(set(settings.lengths))
        workloads = [workload for workload in WORKLOADS if workload in settings.workloads]
        self.costs = {
            (workload, name): CostModel(contender.peak, self.device)
            for workload in workloads
            for name, contender in contenders.items()
        }
        model = contenders[MODEL]
        assert isinstance(model, Subject)
        self.probes = probes(self.device, [model.precision_of(workload) for workload in workloads])
        self.rows: list[Row] = []
        self.machine: list[Row] = []
        self.done, self.total = 0, 0

    def measure(self) -> None:
        """Measure every length, after everything has run on a short document."""
        lengths = with_steps(self.wanted)
        short = Documents.random(1, max(1, min(SHORT, lengths[0] // 2)), self.settings.target, self.conditions)
        for number, (cell, costs) in enumerate(self.costs.items()):
            self.check()
            # Peers choose their precision here, which takes minutes where their graphs are exported first.
            self.report(Progress("bench: warm-up", number, len(self.costs), {cell[0]: cell[1]}))
            costs.warm_up(self._work(cell, short, FEW))
        for work, _ in self.probes.values():
            work()
        units = {length: max(1, length // lengths[0]) for length in lengths}  # seconds grow about so
        turns = {length: 1 + self.settings.repeats * (length in self.wanted) for length in lengths}
        steps = {length: units[length] * turns[length] * len(self.costs) for length in lengths}
        self.total = sum(steps.values())
        for length in lengths:
            end = self.done + steps[length]
            later = sum(longer for longer in self.wanted if longer > length)
            kept = later / (length + later) * max(self.left(), 0.0) if length in self.wanted else 0.0
            self._measure(length, units[length], kept)
            self.done = end  # fewer repetitions may have fitted
        self.report(Progress("bench", self.total, self.total))

    def _measure(self, length: int, unit: int, kept: float) -> None:
        """Attempt everything at one length, and take turns with what fits if the length was asked for.

        The model goes before all others, and the cheap before the costly, so that many rows outweigh one.

        Args:
            length: Source tokens.
            unit: Steps of progress of a repetition.
            kept: Seconds to be left for longer documents, so that all lengths are repeated about as often.
        """
        documents = Documents.random(self.settings.batch, length, self.settings.target, self.conditions)
        repeats = FEWEST if length in self.wanted else 0
        promised = kept
        tried: dict[Cell, Row] = {}
        for cell, costs in sorted(self.costs.items(), key=lambda item: (item[0][1] != MODEL, item[1].predict(length))):
            self._begin(cell, length, unit)
            needed = costs.predict(length)
            if (1 + repeats) * needed <= max(self.left() - promised, 0.0):
                promised += repeats * needed
                values, note = costs.attempt(self._work(cell, documents), length, counted=cell[0] == "train")
            else:
                values, note = {}, f"a repetition would take about {significant(needed, 2)} s"
            workload, model = cell
            labels = {"workload": workload, "model": model, "length": length, "batch": self.settings.batch}
            values |= {"precision": self.contenders[model].precision_of(workload)}
            if isinstance(subject := self.contenders[model], Subject):
                values |= {"weights": subject.weights(workload)}
            tried[cell] = Row({**labels, **values}, note=note)
        if length not in self.wanted:
            return
        fitting = {cell: self._work(cell, documents) for cell in self.costs if not tried[cell].note}
        timings = self._take_turns(fitting, length, unit, kept)
        profiles: dict[str, dict[str, object]] = {}
        operations: dict[str, int] = {}
        document = Documents.random(1, length, 1, self.conditions)
        for name in dict.fromkeys(name for _, name in fitting):
            if isinstance(subject := self.contenders[name], Subject):
                profile = profile_model(subject.model, document, self.settings.beams)
                number_bytes = 2 if subject.precision == "bf16" else 4  # int8 is the precision of weights alone
                cached = number_bytes * self.settings.batch * profile.cached
                step_bytes = SIZES[subject.precision] * profile.weights + cached  # that a decoding step must read
                profiles[name] = {"output_lengths": profile.output_lengths, "step_bytes": step_bytes}
                operations[name] = self.settings.batch * profile.operations
        for cell in self.costs:
            row, (workload, model) = tried[cell], cell
            counted = {"operations": operations[model]} if workload == "encode" and operations.get(model) else {}
            note = OUT_OF_MEMORY if cell in fitting and cell not in timings else row.note
            self.rows.append(Row({**row.values, **profiles.get(model, {}), **counted}, timings.get(cell), note))

    def _take_turns(self, tasks: Mapping[Cell, Work], length: int, unit: int, kept: float) -> dict[Cell, Timing]:
        """Measure in turns with the machine itself; slow work is not repeated once its part of the time is spent."""
        everything: dict[Any, Work] = {name: work for name, (work, _) in self.probes.items()} | dict(tasks)
        seconds: dict[Any, list[float]] = {name: [] for name in everything}

        def measure(name: Any) -> None:  # noqa: ANN401 - a cell, or the name of a rate
            seconds[name].append(clock(everything[name], self.device))

        for turn in range(self.settings.repeats):
            for name in list(everything):
                if not turn or self.left() - kept > seconds[name][-1]:
                    self.check()
                    if name not in tasks:
                        measure(name)
                        continue
                    self._begin(name, length, unit)
                    if not fits(partial(measure, name)):
                        del everything[name], seconds[name]  # it had memory before other systems took theirs
        timings = {name: Timing(tuple(repetitions)) for name, repetitions in seconds.items()}
        for rate, (_, amount) in self.probes.items():
            self.machine.append(Row({"rate": rate, "length": length, "amount": amount}, timings.pop(rate)))
        return timings

    def _work(self, cell: Cell, documents: Documents, tokens: int | None = None) -> Work:
        """One repetition of a workload, with fewer tokens generated if that is asked for."""
        workload, contender = cell[0], self.contenders[cell[1]]
        sizes = (self.settings.beams, tokens or self.settings.generate) if workload == "generate" else ()
        return partial(contender.run, workload, documents, *sizes)

    def _begin(self, cell: Cell, length: int, unit: int) -> None:
        """Report what comes next, or stop."""
        self.check()
        self.report(Progress("bench", self.done, self.total, {cell[0]: f"{length:,} tokens, {cell[1]}"}))
        self.done += unit


@dataclass
class CostModel:
    """Measured costs of one system in one workload, by length, and their extrapolation to longer documents.

    `peak` runs a work on the device and returns its peak memory, `seconds` are those of a repetition, `memory` peak
    bytes, and `least` those with a tiny document, as of gradients.
    """

    peak: Peak
    device: torch.device
    seconds: dict[int, float] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    least: int = 0

    def predict(self, length: int) -> float:
        """Seconds of a repetition: as measured, or as the last two lengths grew; 0 if nothing is known."""
        if not self.seconds or length in self.seconds:
            return self.seconds.get(length, 0.0)
        *before, last = sorted(self.seconds)
        exponent = 1.0
        if before:
            grown = self.seconds[last] / max(self.seconds[before[-1]], 1e-9)
            exponent = math.log(max(grown, 1e-9)) / math.log(last / before[-1])
        growth: float = (length / last) ** min(max(exponent, 1.0), 2.0)
        return self.seconds[last] * growth

    def warm_up(self, work: Work) -> None:
        """Run twice with a short document: what libraries keep from their first call is no memory of a model."""
        with suppress(NotImplementedError, MemoryError):  # the first attempt reports either
            work()
            self.least = self.peak(work, self.device) or 0

    def attempt(self, work: Work, length: int, *, counted: bool) -> tuple[dict[str, Any], str]:
        """Run once for memory and seconds, and for operations if they are counted.

        A length whose memory may not suffice is not tried: what the longest one so far took, beyond that of the tiny
        document, grows at most with the square.

        Returns:
            `memory` and `operations`, where they are known; and why it was not measured, empty if it was.
        """
        if self.memory:
            last = max(self.memory)
            grown, free = max(0, self.memory[last] - self.least), available(self.device)
            needed = self.least + grown * (length / last) ** 2
            if needed > HEADROOM * free:
                return {}, f"may need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
        operations: list[int] = []
        seconds: list[float] = []
        once = (lambda: operations.append(count(work))) if counted else work
        try:
            memory, note = try_peak(lambda: seconds.append(clock(once, self.device)), self.device, self.peak)
        except NotImplementedError as error:
            return {}, str(error)
        if note:
            return {}, note
        self.seconds[length] = seconds[0]
        if memory is not None:
            self.memory[length] = memory
        return {"memory": memory, "operations": operations[0] or None if operations else None}, ""


def with_steps(lengths: Sequence[int]) -> list[int]:
    """Fill gaps, so that no length is more than STEP times the one before, and the first is at most FIRST."""
    steps = [min(FIRST, lengths[0])]
    for length in lengths:
        while length > STEP * steps[-1]:
            steps.append(STEP * steps[-1])
        if length > steps[-1]:
            steps.append(length)
    return steps


def model_result(
    rows: Sequence[Row], machine: Sequence[Row], generate: int, beams: int, facts: dict[str, Any] | None = None
) -> Result:
    """Tables of measured rows: the machine, the models, each workload, and decoding steps."""
    # Operations per second over those of a large product in the same precision and the same turns.
    speeds = [_speed(machine, row["length"], f"{row['precision']} products") for row in rows]
    rows = [
        row.also({"utilization": quotient(quotient(row["operations"], row["median"]), speed)})
        for row, speed in zip(rows, speeds, strict=True)
    ]
    of_machine = []
    for rate in unique(machine, "rate"):  # medians over all lengths
        measured = where(machine, {"rate": rate})
        timing = Timing(tuple(seconds for row in measured if row.timing for seconds in row.timing.seconds))
        unit = "Gop/s" if rate.endswith("products") else "GB/s"
        speed_of_rate = f"{significant(measured[0]['amount'] / timing.median / 1e9)} {unit}"
        of_machine.append(Row({"rate": rate, "speed": speed_of_rate}, timing))
    tables = [make_table("machine_speed", of_machine)] if machine else []
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
    return Result({"models": rows, "machine_speed": machine}, tables, facts or {})


def _speed(machine: Sequence[Row], length: int, *rates: str) -> float | None:
    """Highest of some rates, per second, while a length was measured; None if none of them was measured."""
    speeds = (row["amount"] / row["median"] for row in where(machine, {"length": length}) if row["rate"] in rates)
    return max(speeds, default=None)


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
    systems = {row["model"]: row["precision"] for row in timed if row["precision"]}
    if len(set(systems.values())) > 1:
        notes.append(f"precision: {', '.join(f'{name} {precision}' for name, precision in systems.items())}")
    facts = {"title": title, "batch": rows[0]["batch"]}
    return make_table("workload", _compared(timed), facts, notes=[*notes, *_noise(timed)])


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    """Missing lengths of each system and the reason; where all longer ones are missing too, the shortest says it."""
    for model in unique((row for row in rows if row.note), "model"):
        lengths = where(rows, {"model": model})
        missing = [row for row in lengths if row.note]
        if len(missing) == len(lengths):
            suffix = ""
        elif len(missing) > 1 and missing == lengths[-len(missing) :]:
            suffix = f" from {missing[0]['length']:,} tokens on"
        else:
            suffix = f" at {', '.join(format(row['length'], ',') for row in missing)} tokens"
        yield f"{model} was left out{suffix}: {missing[0].note}"


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


def _noise(rows: Sequence[Row]) -> list[str]:
    return [_NOISY] if any(row["spread"] > NOISY for row in rows) else []


def step_rows(rows: Sequence[Row], machine: Sequence[Row], tokens: int) -> Iterator[Row]:
    """Decoding steps: what generation takes more than encoding, per token, where both were measured."""
    encoded = {(row["model"], row["length"]): row for row in where(rows, {"workload": "encode"})}
    for row in where(rows, {"workload": "generate"}):
        encoding = encoded.get((row["model"], row["length"]))
        if not encoding or not row.timing or not encoding.timing or row["median"] <= encoding["median"]:
            continue
        seconds = (row["median"] - encoding["median"]) / tokens
        values = {name: row[name] for name in ("model", "length", "batch", "step_bytes")}
        values["bandwidth"] = quotient(quotient(row["step_bytes"], seconds), _speed(machine, row["length"], READ, COPY))
        yield Row({**values, "median": seconds, "spread": max(row["spread"], encoding["spread"])})
