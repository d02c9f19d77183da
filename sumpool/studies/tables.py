"""The shallow models of Pietruszka et al., "Trainable Representation Pooling" (Tables 2, 7, 8, 10), and their times.

`paper.csv` has rows #1 to #32 with what the paper reports: seconds of a training step (batch 64) and of generating 256
and 512 forced tokens (batch 8) on an A100 (Table 10), and ROUGE on arXiv (Table 9). Pools are those after each layer,
and `restore` means that the decoder sees what was pooled at its full length again. Other settings are those of Table 5.

Where the paper leaves something open: PoWER and Funnel have blockwise attention with blocks of 512, and the two local
heads of Efficient a window of 256. Row 21 trains in 1.07 s in Table 7.

Everything is made smaller by two factors, one of lengths and one of widths. Where they are equal every matrix product
shrinks by the same third power, so that the proportions between the models stay those of the paper.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any, Literal

from sumpool.bench.measures import Timing, Work, interleave
from sumpool.bench.results import Result, Row, quotient
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.studies.config import TablesConfig
from sumpool.studies.study import Steps, make_table
from sumpool.training.hardware import OUT_OF_MEMORY, fits

TableNumber = Literal[2, 7, 8, 10]
"""A table of the paper; 10 lists the rows of all others."""
TABLES: Mapping[TableNumber, tuple[int, int]] = {2: (1, 20), 7: (21, 26), 8: (27, 32), 10: (1, 32)}
"""First and last row of each table."""
BASE = 5
"""The row that ratios are taken to: Blockwise, 8k."""
WORKS = ("train", "generate_256", "generate_512")
VOCABULARY = 32_000
GENERATE_BATCH = 8
"""Documents that are written about at once."""
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "blockwise": {"block": None},
    "lsh": {"bucket": 64, "hashes": 4, "local_heads": 2},
    "efficient": {"local_heads": 2},
    "halving": {"keep": None, "scorer": {"kind": "linear"}},
    "hard": {"keep": None, "scorer": {"kind": "attention_mass", "itself": False}, "gradient": "none"},
    "funnel": {"window": None, "stride": None},
}
"""Settings of variants; None is the number that follows a variant's kind in the file."""
_LENGTHS = {"keep", "block", "bucket", "source_length", "target_length"}
_MULTIPLE = 16
"""Of which widths are: eight heads, and an even number of features for each."""


def rows(table: TableNumber) -> list[tuple[ModelConfig, Row]]:
    """Models of a table with their published seconds of `WORKS`, in the paper's order; 10 has all 32."""
    first, last = TABLES[table]
    text = files(__package__).joinpath("paper.csv").read_text(encoding="utf-8")
    found = []
    for line in list(csv.DictReader(text.splitlines()))[first - 1 : last]:
        *pools, end = line["pools"].split(" | ")
        restore = end == "restore"
        attention, pools = _variant(line["attention"]), pools if restore else [*pools, end]
        settings: dict[str, Any] = {  # of Table 5
            "dim": 512,
            "heads": 8,
            "feed_forward": 2048,
            "activation": "relu",
            "norm": "post",
            "dropout": 0.1,
            "source_length": int(line["length"]),
            "encoder": [{"attention": attention, "pool": _variant(pool)} for pool in pools],
            "restore": restore,
            "decoder": {"layers": 2, "positions": "none"},
            "output": {"kind": "tied"},
        }
        seconds = {f"{name}_published": float(line[name]) for name in WORKS}
        row = Row({"label": f"#{line['number']}", "name": line["name"], **seconds}, note=line["note"])
        found.append((ModelConfig.model_validate(settings), row))
    return found


def _variant(words: str) -> dict[str, Any] | None:
    """Settings of a variant such as "halving 512"; None for "-"."""
    kind, _, size = words.partition(" ")
    known = {name: int(size) if value is None else value for name, value in _VARIANTS.get(kind, {}).items()}
    return None if kind == "-" else {"kind": kind, **known}


def measure_tables(settings: TablesConfig, conditions: Conditions, steps: Steps) -> Result:
    """Measure every row of a table, and row #5, in turns; the vocabulary is narrowed with the widths."""
    narrow = replace(conditions, vocabulary=max(16, round(conditions.vocabulary * settings.width)))
    wanted = [(scale(config, settings), row) for config, row in (*rows(settings.table), rows(10)[BASE - 1])]
    subjects = {config: Subject(config, narrow) for config in dict.fromkeys(config for config, _ in wanted)}
    steps.total = 3 * len(subjects) * (settings.repeats + 2)
    timings: dict[str, dict[ModelConfig, Timing]] = {}
    for name in WORKS:
        tasks = {config: _work(name, config, subject, settings) for config, subject in subjects.items()}
        fitting = {}  # models that do not fit are left out
        for config, work in tasks.items():
            steps()
            if fits(work):
                fitting[config] = work
        timings[name] = interleave(fitting, settings.repeats, narrow.device, steps, settings.seconds)
    short, long = (_scaled(tokens, settings) for tokens in settings.generate)
    scaled = {
        "target": _scaled(settings.target, settings),
        "short": short,
        "long": long,
        "generate_batch": GENERATE_BATCH,
    }
    facts = settings.model_dump() | scaled | {"vocabulary": narrow.vocabulary}
    *measured, base = (
        times_row(row, {name: timed.get(config) for name, timed in timings.items()}) for config, row in wanted
    )
    return times_result(measured, base, facts)


def times_row(row: Row, timings: Mapping[str, Timing | None]) -> Row:
    """One row of the paper with its measured times by work; None where a work did not fit."""
    for name, timing in timings.items():
        seconds = timing.seconds if timing else None
        row = row.also({name: timing.median if timing else None, f"{name}_repetitions": seconds})
    notes = [row.note, "" if all(timings.values()) else OUT_OF_MEMORY]
    return replace(row, note="; ".join(filter(None, notes)))


def times_result(measured: Sequence[Row], base: Row, facts: Mapping[str, Any]) -> Result:
    """Table of seconds, and ratios to row #5 beside those of the paper."""
    lines = []
    for row in measured:
        ratios = {f"{name}_ratio": quotient(row[name], base[name]) for name in WORKS}
        published = {f"{name}_paper": row[f"{name}_published"] / base[f"{name}_published"] for name in WORKS}
        lines.append(row.also({**ratios, **published}))
    notes = [f"{row['label']}: {row.note}" for row in measured if row.note]
    return Result({"times": lines, "base": [base]}, [make_table("times", lines, facts, notes=notes)])


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
            return {inner: _shorten(entry, factor, inner) for inner, entry in value.items()}
        case tuple() | list():
            return [_shorten(entry, factor, name) for entry in value]
        case int() if name in _LENGTHS:
            return max(1, round(value * factor))
    return value


def _work(name: str, config: ModelConfig, subject: Subject, settings: TablesConfig) -> Work:
    """A training step, or a generation, of one model."""
    length, conditions = config.source_length, subject.conditions
    if name == "train":
        target = _scaled(settings.target, settings)
        return partial(subject.train, Documents.random(settings.batch, length, target, conditions))
    tokens = settings.generate[name == "generate_512"]
    documents = Documents.random(GENERATE_BATCH, length, 1, conditions)
    return partial(subject.generate, documents, 1, _scaled(tokens, settings))


def _scaled(length: int, settings: TablesConfig) -> int:
    return max(1, round(length * settings.scale))
