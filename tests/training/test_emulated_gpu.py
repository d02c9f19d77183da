"""Whole updates on an emulated GPU: weights of the CPU, and no wait of the host but for metrics and segments."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch
from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.training.fit import validate
from sumpool.training.update import Updater
from tests.core.emulated_gpu import CUDA, GpuTensor, emulated_gpu, on_gpu
from tests.tasks.language_modeling.test_model import SMALL, SOURCES
from tests.training import test_classification as classification
from tests.training.toy import CONFIG, DATA, are_finite, new_model


def summarizer() -> tuple[nn.Module, list[Batch]]:
    return new_model(dropout=0.0), [DATA.batch(DATA.training, rows) for rows in ([0, 1], [2])]


def classifier(*, pairs: bool) -> tuple[nn.Module, list[Batch]]:
    data = classification.data(pairs=pairs)
    return classification.new_model(pairs=pairs, dropout=0.0), [data.batch(data.training, [0, 1, 2])]


def language_model(source: str) -> tuple[nn.Module, list[Batch]]:
    torch.manual_seed(1)
    layers = {"plain": [2], "nested": [1, 1, 2, 1, 1]}.get(source, SMALL["layers"])
    config = LanguageModelConfig.model_validate(
        {**SMALL, "layers": layers, "boundaries": SOURCES[source], "dropout": 0.0, "attention_dropout": 0.0}
    )
    ids = torch.randint(3, 11, (2, 21))
    mask = torch.arange(21) < torch.tensor([21, 13])[:, None]
    parts = (ids.where(mask, 0), mask, torch.zeros_like(ids), ids.roll(-1, 1).where(mask, 0))
    return LanguageModel(config, 11), [Batch(*parts, ("a", "b"), torch.arange(21).expand(2, -1) // 4, 0)]


def updates(
    model: nn.Module, batches: list[Batch], device: torch.device
) -> tuple[list[dict[str, float]], Counter[str]]:
    """Make two updates, and count the waits of the second one until its metrics are read."""
    torch.manual_seed(3)
    with emulated_gpu() as gpu:
        updater = Updater(model, CONFIG, device)
        first = updater.update(batches, rate=0.01)
        before = gpu.synchronisations.copy()
        second = updater.update(batches, rate=0.01)
        waits = gpu.synchronisations - before
        return [first.read(), second.read()], waits


LEARNT = ("plain", "unigram", "entropy", "gumbel", "nested")
"""Boundaries of language models: none, and each kind that learns."""
MODELS: dict[str, tuple[Callable[[], tuple[nn.Module, list[Batch]]], int]] = {
    "summarizer": (summarizer, 0),
    "classifier": (partial(classifier, pairs=False), 0),
    "classifier of pairs": (partial(classifier, pairs=True), 0),
    **{f"language model, {source}": (partial(language_model, source), len(SOURCES[source])) for source in LEARNT},
}


FAST = ("summarizer", "classifier of pairs", "language model, gumbel")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in MODELS]
)
def test_updates_are_those_of_the_cpu(name: str) -> None:
    build, waits_allowed = MODELS[name]
    expected, batches = build()
    expected_metrics, _ = updates(expected.double(), batches, torch.device("cpu"))
    model = on_gpu(build()[0].double())
    metrics, waits = updates(model, batches, CUDA)
    assert waits.total() == waits_allowed, waits
    for one, other in zip(metrics, expected_metrics, strict=True):
        assert are_finite(one)
        assert (one["loss"], one["nats"], one["norm"]) == pytest.approx(
            (other["loss"], other["nats"], other["norm"]), rel=1e-9
        )
    moved = dict(expected.named_parameters())
    for parameter_name, parameter in model.named_parameters():
        torch.testing.assert_close(_memory(parameter), moved[parameter_name].data, atol=1e-9, rtol=0)


def test_validation_is_that_of_the_cpu() -> None:
    expected, _ = validate(new_model(), DATA, CONFIG, torch.device("cpu"), lambda: None)
    model = on_gpu(new_model())
    with emulated_gpu():
        actual, _ = validate(model, DATA, CONFIG, CUDA, lambda: None)
    assert actual == pytest.approx(expected, rel=1e-5)


def _memory(parameter: nn.Parameter) -> Tensor:
    with emulated_gpu():
        data = parameter.detach()
    assert isinstance(data, GpuTensor)
    return data.memory
