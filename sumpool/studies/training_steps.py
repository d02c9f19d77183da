"""Time of a training step: by depth and length of the encoder, and by the shortening factor of a language model.

Depth (Pietruszka et al., Figure 4): three encoders of as many layers, full attention, blockwise attention, and a
pyramid of blockwise layers that leaves one vector for every `keep` tokens, in halvings spread evenly over the layers
after the first. The decoder is the same.

Shortening (Nawrot et al., Figure 5), time and memory: the paper's language model of 2 + 8 + 2 layers over 2,048
characters. The eight in the middle see one vector for every `factor` characters, and the last two every character
again. The released code stores attention weights for the backward pass, in memory quadratic in the length; ours
computes them again.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch

from sumpool.bench.measures import Work, interleave
from sumpool.bench.results import Result, Row, quotient
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.boundaries import FixedBoundariesConfig
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import PARAGRAPH
from sumpool.studies.config import DepthConfig, ShorteningConfig
from sumpool.studies.study import Steps, make_table
from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.training.hardware import fits, try_peak

VANILLA, BLOCKWISE, PYRAMID = MODELS = ("vanilla", "blockwise", "pyramidion")
_GROWTH = 4.0
"""Time of a step at twice the length, at most."""


def measure_depth(settings: DepthConfig, conditions: Conditions, steps: Steps) -> Result:
    """Measure a training step of every model by length and depth, those of one size in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    cells = [(length, layers) for length in sorted(settings.lengths) for layers in sorted(settings.layers)]
    steps.total = len(cells) * len(MODELS) * (settings.repeats + 1)
    seconds: dict[tuple[str, int, int], float] = {}
    rows: list[Row] = []
    for length, layers in cells:
        documents = Documents.random(settings.batch, length, settings.target, here)
        expected: dict[str, float] = {}
        for name in MODELS:  # at most, from a shallower model, else from a shorter document; 0 where neither is known
            known = [cell for cell in seconds if cell[0] == name]
            shallower = [seconds[cell] * layers / cell[2] for cell in known if cell[1] == length]
            shorter = [seconds[cell] * (length / cell[1]) ** (_GROWTH / 2) for cell in known if cell[2] == layers]
            expected[name] = min([*shallower, *shorter], default=0.0)
        names = [name for name in MODELS if expected[name] <= settings.seconds]
        models = {name: Subject(depth_model(name, length, layers, settings), here) for name in names}
        tasks = {name: partial(model.train, documents) for name, model in models.items()}
        timings = interleave(tasks, settings.repeats, here.device, steps)
        for name in MODELS:
            timing = timings.get(name)
            seconds[name, length, layers] = timing.median if timing else expected[name]
            note = "" if timing else f"a step would take about {expected[name]:,.0f} s"
            rows.append(Row({"length": length, "layers": layers, "model": name}, timing, note))
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


FIRST, MIDDLE, LAST = 2, 8, 2
"""Layers before the pooling, after it, and at full length again."""
PUBLISHED = {2: (0.56, 0.57), 4: (0.40, 0.47)}
"""Time and memory in proportion to no shortening, from the paper's section 5, which has no other figures."""


def measure_shortening(settings: ShorteningConfig, conditions: Conditions, steps: Steps) -> Result:
    """Measure a training step at every shortening factor, in turns."""
    here = replace(conditions, vocabulary=settings.vocabulary)
    tasks = {factor: _training_step(factor, settings, here) for factor in sorted({1, *settings.factors})}
    steps.total = len(tasks) * (settings.repeats + 2)
    memory: dict[int, tuple[int | None, str]] = {}
    fits(tasks[max(tasks)])  # the cheapest, so that libraries are warm
    for factor in sorted(tasks, reverse=True):
        steps()
        memory[factor] = try_peak(tasks[factor], here.device)
    fitting = {factor: work for factor, work in tasks.items() if not memory[factor][1]}
    timings = interleave(fitting, settings.repeats, here.device, steps)
    rows = [
        Row({"factor": factor, "memory": memory[factor][0]}, timings.get(factor), memory[factor][1]) for factor in tasks
    ]
    return shortening_result(rows, settings)


def _training_step(factor: int, settings: ShorteningConfig, conditions: Conditions) -> Work:
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
