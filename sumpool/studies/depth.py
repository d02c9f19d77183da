"""Training time by depth and length of the encoder (Pietruszka et al., Figure 4).

Three encoders of as many layers: full attention, blockwise attention, and a pyramid of blockwise layers that leaves
one vector for every `keep` tokens, in halvings spread evenly over the layers after the first. The decoder is the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sumpool.bench.measures import Steps, interleave
from sumpool.bench.results import Result, Row, quotient
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Check, Report, no_op
from sumpool.studies.config import DepthConfig
from sumpool.studies.study import make_table

VANILLA, BLOCKWISE, PYRAMID = MODELS = ("vanilla", "blockwise", "pyramidion")
_GROWTH = 4.0
"""Time of a step at twice the length, at most."""


def measure_depth(
    settings: DepthConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure a training step of every model by length and depth, those of one size in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    cells = [(length, layers) for length in sorted(settings.lengths) for layers in sorted(settings.layers)]
    steps = Steps(len(cells) * len(MODELS) * (settings.repeats + 1), report, check)
    seconds: dict[tuple[str, int, int], float] = {}
    rows: list[Row] = []
    for length, layers in cells:
        documents = Documents.random(settings.batch, length, settings.target, here)
        expected = {name: _expected(name, length, layers, seconds) for name in MODELS}
        names = [name for name in MODELS if expected[name] <= settings.seconds]
        models = {name: Subject(depth_model(name, length, layers, settings), here) for name in names}
        tasks = {name: partial(model.train, documents) for name, model in models.items()}
        timings = interleave(tasks, settings.repeats, here.device, steps)
        for name in MODELS:
            timing = timings.get(name)
            seconds[name, length, layers] = timing.median if timing else expected[name]
            note = "" if timing else f"a step would take about {expected[name]:,.0f} s"
            rows.append(Row({"length": length, "layers": layers, "model": name}, timing, note))
    steps.finish()
    return depth_result(rows, settings)


def depth_result(rows: list[Row], settings: DepthConfig) -> Result:
    """Table with one line for each length and depth."""
    sizes = dict.fromkeys((row["length"], row["layers"]) for row in rows)
    medians = {(row["length"], row["layers"], row["model"]): row["median"] for row in rows}
    lines = []
    for size in sizes:
        times = {name: medians[(*size, name)] for name in MODELS}
        ratios = {f"{name}_ratio": quotient(times[name], times[PYRAMID]) for name in (VANILLA, BLOCKWISE)}
        lines.append(Row({"length": size[0], "layers": size[1], **times, **ratios}))
    left_out = sum(bool(row.note) for row in rows)
    notes = [f"-: left out, a step would take more than {settings.seconds:g} s ({left_out} of {len(rows)})"]
    table = make_table("depth", lines, settings.model_dump(), notes=notes if left_out else [])
    return Result({"depth": rows, "depth_ratios": lines}, [table])


def depth_model(name: str, length: int, layers: int, settings: DepthConfig) -> ModelConfig:
    """Return a model of one of three kinds; a pyramid halves after every layer but the first, as far as it must."""
    attention = {"kind": "vanilla"} if name == VANILLA else {"kind": "blockwise", "block": settings.block}
    encoder: list[dict[str, object]] = [{"attention": attention} for _ in range(layers)]
    if name == PYRAMID:
        for layer, kept in pyramid(length, length // settings.keep, layers).items():
            encoder[layer]["pool"] = {"kind": "halving", "keep": kept, "scorer": {"kind": "linear"}}
    return ModelConfig.model_validate(
        {
            **settings.model_dump(include={"dim", "heads", "feed_forward"}),
            "source_length": length,
            "target_length": settings.target,
            "encoder": encoder,
            "decoder": {"layers": settings.decoder},
            "output": {"kind": "tied"},
        }
    )


def pyramid(length: int, keep: int, layers: int) -> Mapping[int, int]:
    """Vectors that each pooling layer leaves, by the index of the layer; lengths fall by powers of two."""
    halvings = max(1, length // max(1, keep)).bit_length() - 1
    kept: dict[int, int] = {}
    done = 0
    for layer in range(min(1, layers - 1), layers):
        due = round(halvings * layer / (layers - 1)) if layers > 1 else halvings
        if due > done:
            kept[layer], done = max(1, length >> due), due
    return kept


def _expected(name: str, length: int, layers: int, seconds: Mapping[tuple[str, int, int], float]) -> float:
    """Seconds of a step at most, from a shallower model, else from a shorter document; 0 where neither is known."""
    known = [cell for cell in seconds if cell[0] == name]
    shallower = [seconds[cell] * layers / cell[2] for cell in known if cell[1] == length]
    shorter = [seconds[cell] * (length / cell[1]) ** (_GROWTH / 2) for cell in known if cell[2] == layers]
    return min([*shallower, *shorter], default=0.0)
