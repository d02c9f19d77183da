"""Times of the shallow models of Pietruszka et al. (Tables 2, 7, 8, 10): a training step, and forced generation.

Everything is made smaller by two factors, one of lengths and one of widths. Where they are equal every product of
matrices shrinks by the same third power, so that the proportions between the models stay those of the paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

from sumpool.bench.config import TablesConfig
from sumpool.bench.measures.timing import Steps, Timing, Work, interleave
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import MISSING, Table, number, ratio
from sumpool.bench.suites.paper import BASE, GENERATION_BATCH, TRAINING_BATCH, PaperRow, Published, rows
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.errors import is_out_of_memory
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent

_LENGTHS = {"keep", "block", "bucket", "source_length", "target_length"}
_MULTIPLE = 16
"""Of which widths are: eight heads, and an even number of features for each."""


@dataclass(frozen=True)
class TimeRow:
    """One row of the paper, measured.

    Attributes:
        number: The row's number in the paper.
        name: Architecture and lengths, before scaling.
        published: The paper's figures.
        training: Seconds of a training step; None where it was not measured.
        short: Seconds of writing the fewer tokens, reading included.
        long: Seconds of writing the more tokens, reading included.
        note: Why something was not measured, or is odd about the paper's figures.
    """

    number: int
    name: str
    published: Published
    training: Timing | None = None
    short: Timing | None = None
    long: Timing | None = None
    note: str = ""


@final
@dataclass(frozen=True)
class FoundTimes(Found):
    """A table of the paper, measured.

    Attributes:
        times: Its rows.
        base: Row #5, which ratios are taken to.
        sizes: What was measured, in a sentence.
    """

    times: tuple[TimeRow, ...]
    base: TimeRow
    sizes: str

    def tables(self) -> Iterator[Table]:
        """Seconds, and ratios to row #5 beside those of the paper."""
        cells = tuple(
            (
                f"#{row.number}",
                row.name,
                *_measured(row.training, self.base.training),
                ratio(row.published.training, self.base.published.training),
                *_measured(row.short, self.base.short),
                ratio(row.published.inference_256, self.base.published.inference_256),
                *_measured(row.long, self.base.long),
                ratio(row.published.inference_512, self.base.published.inference_512),
            )
            for row in self.times
        )
        columns = (
            "#",
            "model",
            "train s",
            "/ #5",
            "paper",
            "write 256 s",
            "/ #5",
            "paper",
            "write 512 s",
            "/ #5",
            "paper",
        )
        notes = [
            self.sizes,
            f"/ #{BASE}: in proportion to Blockwise 8k; paper: the same of its seconds (A100, batch {TRAINING_BATCH} "
            f"for training, {GENERATION_BATCH} for writing, released halving with a loop over the batch)",
            *(f"#{row.number}: {row.note}" for row in self.times if row.note),
        ]
        yield Table("shallow models", columns, cells, tuple(notes))


def measure_tables(
    settings: TablesConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> FoundTimes:
    """Measure every row of a table, and row #5, in turns.

    Args:
        settings: The table, factors, batches and repetitions.
        conditions: Device, precision, seed, and the vocabulary before it is made narrower.
        report: Told of every repetition.
        check: Called between repetitions; it may raise to stop.
    """
    wanted = rows(settings.table)
    base = rows(10)[BASE - 1]
    narrow = replace(conditions, vocabulary=max(16, round(conditions.vocabulary * settings.width)))
    models: dict[ModelConfig, Subject] = {}  # rows that are the same model are measured once
    for row in (*wanted, base):
        if row.config:
            scaled = scale(row.config, settings)
            models.setdefault(scaled, Subject(scaled, narrow))
    steps = Steps(3 * len(models) * (settings.repeats + 2), report, check)
    found = [
        _measure(works, settings, narrow, steps)
        for works in (_training(models, settings, narrow), *_generations(models, settings, narrow))
    ]
    steps.finish()

    def time(row: PaperRow) -> TimeRow:
        plain = TimeRow(row.number, row.name, row.published, note=row.note)
        if row.config is None:
            return plain
        own = [each[scale(row.config, settings)] for each in found]
        timings = [each if isinstance(each, Timing) else None for each in own]
        notes = [row.note, *dict.fromkeys(each for each in own if isinstance(each, str))]
        return replace(
            plain,
            training=timings[0],
            short=timings[1],
            long=timings[2],
            note="; ".join(filter(None, notes)),
        )

    return FoundTimes(tuple(map(time, wanted)), time(base), _describe(settings, narrow))


def scale(config: ModelConfig, settings: TablesConfig) -> ModelConfig:
    """Make a model of the paper smaller: its lengths by `scale`, its widths by `width`."""
    small = _shorten(config.model_dump(), settings.scale)
    for name in ("dim", "feed_forward"):
        small[name] = max(1, round(small[name] * settings.width / _MULTIPLE)) * _MULTIPLE
    return ModelConfig.model_validate(small)


def _shorten(value: Any, factor: float, name: str = "") -> Any:  # noqa: ANN401 - whatever a dumped model holds
    """Multiply every length in a dumped model; a share of the length stays what it is."""
    match value:
        case dict():
            return {inner: _shorten(found, factor, inner) for inner, found in value.items()}
        case tuple() | list():
            return [_shorten(found, factor, name) for found in value]
        case int() if name in _LENGTHS:
            return max(1, round(value * factor))
    return value


Works = Sequence[tuple[ModelConfig, Work]]


def _training(models: dict[ModelConfig, Subject], settings: TablesConfig, conditions: Conditions) -> Works:
    target = _scaled(settings.target, settings)
    return [
        (config, partial(subject.train, Documents.random(settings.batch, config.source_length, target, conditions)))
        for config, subject in models.items()
    ]


def _generations(models: dict[ModelConfig, Subject], settings: TablesConfig, conditions: Conditions) -> Iterator[Works]:
    for tokens in settings.generate:
        written = _scaled(tokens, settings)
        yield [
            (
                config,
                partial(
                    subject.generate,
                    Documents.random(settings.generate_batch, config.source_length, 1, conditions),
                    settings.beams,
                    written,
                ),
            )
            for config, subject in models.items()
        ]


def _scaled(length: int, settings: TablesConfig) -> int:
    return max(1, round(length * settings.scale))


def _measure(
    works: Works, settings: TablesConfig, conditions: Conditions, steps: Steps
) -> dict[ModelConfig, Timing | str]:
    """Measure one work of all models in turns; a model that does not fit has a sentence instead of a timing."""
    found: dict[ModelConfig, Timing | str] = {}
    fitting: dict[str, Work] = {}
    for place, (config, work) in enumerate(works):
        steps()
        try:
            work()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            found[config] = "memory ended"
        else:
            fitting[str(place)] = work
    timings = interleave(fitting, settings.repeats, conditions.device, steps, settings.seconds)
    return found | {works[int(place)][0]: timing for place, timing in timings.items()}


def _measured(timing: Timing | None, base: Timing | None) -> tuple[str, str]:
    if timing is None:
        return MISSING, MISSING
    return number(timing.median, 3), ratio(timing.median, base.median if base else None)


def _describe(settings: TablesConfig, conditions: Conditions) -> str:
    short, long = (_scaled(tokens, settings) for tokens in settings.generate)
    return (
        f"lengths x {settings.scale:g}, widths x {settings.width:g}, vocabulary {conditions.vocabulary:,}; training: "
        f"batch {settings.batch}, {_scaled(settings.target, settings)} summary tokens; writing: {short} and {long} "
        f"tokens, batch {settings.generate_batch}, beams {settings.beams}, reading included"
    )
