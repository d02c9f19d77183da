from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from sumpool.bench.results import Row, unique, where
from sumpool.bench.workload import Conditions
from sumpool.core.attention.convolutional import ConvolutionalAttentionConfig
from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from sumpool.core.attention.v_mean import VMeanAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import TrainingData
from sumpool.data.shards import Item
from sumpool.errors import RecipeError
from sumpool.settings import kinds
from sumpool.studies import attentions, sparsity
from sumpool.studies.attentions import (
    APPROXIMATIONS,
    EXACT,
    MEAN,
    SWEEP,
    attention_config,
    fit_row,
    measure_approximations,
    measure_attention_costs,
    random_inputs,
    spectral_error,
    trained_inputs,
)
from sumpool.studies.config import ApproximationConfig, AttentionsConfig
from sumpool.studies.run import run_study
from sumpool.studies.study import Steps
from tests.studies.test_sparsity import prepare

CONDITIONS = Conditions(100, torch.device("cpu"), torch.float32)


def measured(*costs: tuple[int, float]) -> list[Row]:
    return [Row({"length": length, "seconds": seconds, "operations": 3 * length}) for length, seconds in costs]


def test_exponent_and_constant_of_a_power_law() -> None:
    fit = fit_row("x", measured((1000, 0.5), (2000, 2.0), (4000, 8.0)))
    assert fit["seconds_exponent"] == pytest.approx(2)
    assert fit["seconds_constant"] == pytest.approx(0.5)
    assert fit["operations_exponent"] == pytest.approx(1)
    assert fit["operations_constant"] == pytest.approx(3000)
    assert (fit["memory_exponent"], fit["longest"]) == (None, 4000)
    fixed = fit_row("x", measured((1000, 1.5), (2000, 3.0), (4000, 9.0)))
    assert fixed["seconds_exponent"] < fit["seconds_exponent"], "a part that is the same at all lengths"
    # no growth, no fit
    for costs in (((1000, 0.5), (2000, 2.0)), ((1, 1.0), (2, 1.0), (2, 2.0)), ((1, 0.0), (2, 1.0), (3, 2.0))):
        fit = fit_row("x", measured(*costs))
        assert (fit["seconds_exponent"], fit["seconds_constant"]) == (None, None)


def test_every_attention_is_measured_beside_its_counted_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attentions, "available", lambda _: 2**60)
    monkeypatch.setattr(attentions, "try_peak", lambda *_: (1000, ""))
    settings = AttentionsConfig(lengths=(8, 16, 32), dim=8, heads=2, repeats=1, seconds=1000)
    result = measure_attention_costs(settings, CONDITIONS, Steps())
    assert [row["name"] for row in result.rows["attention_costs"]] == list(kinds("sumpool.core.attention"))
    for row in result.rows["attention_costs"]:
        assert row["longest"] == 32, row["name"]
        assert row["operations_constant"] > 0, row["name"]
        assert row["seconds_constant"] > 0, row["name"]
    assert len(result.rows["attention_lengths"]) == 3 * len(kinds("sumpool.core.attention"))
    (vanilla,) = (row for row in result.rows["attention_lengths"] if (row["name"], row["length"]) == ("vanilla", 32))
    assert vanilla["operations"] == 2 * 32 * 8 * 4 * 8 + 4 * 32 * 32 * 8
    assert "exponent" in result.tables[0].headings()[2]


def test_operations_of_paper_5_follow_radius_kernel_and_stride() -> None:
    length, dim = 96, 8
    settings = AttentionsConfig(lengths=(length,), dim=dim, heads=2, repeats=1, sweep=True)
    rows = measure_attention_costs(settings, CONDITIONS, Steps()).rows["attention_lengths"]
    assert [row["name"] for row in rows] == [*SWEEP]
    for row in rows:
        config = attention_config(row["name"], length, 2)
        maps = 2 * length * dim**2  # a linear map of every token
        if isinstance(config, ConvolutionalAttentionConfig):
            phrases = -(-length // config.stride)
            products = 4 * phrases**2 * dim  # scores, and the mixing of values
            of_phrases = (2 * config.kernel + 3) * 2 * phrases * dim**2  # both convolutions; queries, keys and values
            assert row["operations"] == of_phrases + products + maps
        else:
            assert isinstance(config, NeighborhoodAttentionConfig)
            band = min(length, 2 * config.radius + 1)  # rounded up to blocks
            assert 4 * length * band * dim <= row["operations"] - 4 * maps <= 4 * length * min(length, 2 * band) * dim


def test_longer_documents_are_left_out_where_they_take_too_long_or_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attentions, "kinds", lambda _: ("vanilla",))
    settings = AttentionsConfig(lengths=(8, 16), dim=8, heads=2, repeats=1, seconds=1e-9)
    result = measure_attention_costs(settings, CONDITIONS, Steps())
    assert [row["length"] for row in result.rows["attention_lengths"]] == [8]
    monkeypatch.setattr(attentions, "try_peak", lambda *_: (None, "out of memory"))
    assert measure_attention_costs(settings, CONDITIONS, Steps()).rows["attention_lengths"] == []


def test_sizes_follow_document_and_heads() -> None:
    assert attention_config("linformer", 4096, 4).model_dump()["length"] == 4096
    assert attention_config("lsh", 8, 2).model_dump()["local_heads"] == 1
    with pytest.raises(ValidationError, match="heads must divide dim = 64, got 5"):
        AttentionsConfig(heads=5)


SMALL = ApproximationConfig(lengths=(48, 96), features=(8, 48, 96), repeats=3, head_dim=8)


@pytest.mark.parametrize("name", [name for name in APPROXIMATIONS if name != MEAN])
def test_errors_fall_with_features(name: str) -> None:
    layers = [*random_inputs(SMALL, 96, CONDITIONS)]
    exact, build = APPROXIMATIONS[name]

    def error(count: int) -> float:
        errors = [
            spectral_error(build(count, 96, seed), EXACT[exact], layer, 96, seed) for seed, layer in enumerate(layers)
        ]
        return sum(errors)

    assert error(96) < error(8) / 2


def test_error_is_that_of_explicit_weights() -> None:
    (layer, *_) = random_inputs(SMALL, 20, CONDITIONS)
    query, key, value = (
        part.view(20, 2, 8).transpose(0, 1)
        for part in torch.nn.functional.linear(layer.states[0], layer.weight, layer.bias).chunk(3, dim=-1)
    )
    exact = (query @ key.mT / 8**0.5).softmax(2) @ value
    difference = exact - value.mean(1, keepdim=True)
    expected = [float(difference[head].svd().S[0] / exact[head].svd().S[0]) for head in range(2)]
    measured = spectral_error(VMeanAttentionConfig(), VanillaAttentionConfig(), layer, 20, 0)
    assert measured == pytest.approx(sum(expected) / 2, rel=1e-4)
    assert spectral_error(VanillaAttentionConfig(), VanillaAttentionConfig(), layer, 20, 0) == 0


def test_random_weights_and_those_of_a_run_are_measured() -> None:
    steps = Steps()
    trained = [*random_inputs(SMALL, 60, CONDITIONS)][:2]
    settings = SMALL.model_copy(update={"repeats": 1})
    result = measure_approximations(settings, CONDITIONS, steps, trained)
    rows = result.rows["approximation"]
    assert {row["length"] for row in where(rows, {"weights": "trained"})} == {48}  # documents end there
    assert {row["length"] for row in where(rows, {"weights": "random"})} == {48, 96}
    assert {row["measured"] for row in where(rows, {"weights": "trained"})} == {2}
    assert all(row["features"] <= row["length"] for row in rows)
    assert steps.done == steps.total == 3 * len(APPROXIMATIONS)
    (table,) = result.tables
    assert table.headings() == ["weights", "tokens", "approximation", "of", "8", "48", "96"]
    assert table.cells()[0][:4] == ("random", "48", "performer", "softmax")
    assert table.cells()[0][6] == "-"


def test_the_same_seed_gives_the_same_errors() -> None:
    settings = SMALL.model_copy(update={"lengths": (24,), "features": (8,)})
    torch.manual_seed(1)
    first = measure_approximations(settings, CONDITIONS, Steps()).rows["approximation"]
    torch.manual_seed(2)
    assert measure_approximations(settings, CONDITIONS, Steps()).rows["approximation"] == first


def loaded(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> Any:  # noqa: ANN401 - a part of a loaded run
    """A model with random weights, one encoder layer of each kind, and three documents of 40 tokens."""
    sizes = {"dim": 16, "heads": 2, "feed_forward": 16, "source_length": 30, "target_length": 8}
    encoder = [{"attention": {"kind": kind}} for kind in kinds]
    config = ModelConfig.model_validate({**sizes, "decoder": {"layers": 1}, "encoder": encoder})
    random = np.random.default_rng(1)
    items = [Item(str(n), random.integers(9, 50, 40), np.arange(40) // 9, random.integers(9, 50, 7)) for n in range(3)]
    data = TrainingData(items, items, 30, 8, 1)  # type: ignore[arg-type]
    monkeypatch.setattr(sparsity, "validation_data", Mock(return_value=data))
    return SimpleNamespace(
        model=SummarizationModel(config, 50).eval(), recipe=SimpleNamespace(model=config), device=torch.device("cpu")
    )


def test_inputs_are_those_of_whole_documents_and_layers_with_queries_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    run = loaded(monkeypatch, "blockwise", "v_mean", "vanilla")
    encoder = run.model.encoder
    assert encoder.chunked
    inputs = [*trained_inputs(run, 2)]
    assert encoder.chunked
    assert len(inputs) == 2 * 2  # two documents, two layers with queries, keys and values
    assert [layer.states.shape for layer in inputs] == [(1, 30, 16)] * 4
    assert torch.equal(inputs[0].weight, encoder.layers[0].attention.project.weight)
    assert torch.equal(inputs[1].weight, encoder.layers[2].attention.project.weight)
    assert not torch.equal(inputs[0].states, inputs[2].states)
    assert not encoder.layers[0].attention._forward_pre_hooks
    norms = inputs[0].states.std(2, correction=0)  # pre-norm
    torch.testing.assert_close(norms, torch.ones_like(norms), atol=1e-2, rtol=0)
    with pytest.raises(RecipeError, match="encoder must have a layer whose attention has queries, keys and values"):
        [*trained_inputs(loaded(monkeypatch, "v_mean"), 2)]


SMALL_STUDY = ("study.lengths=[16, 32, 500]", "study.features=[4, 8]", "study.repeats=1", "study.head_dim=8")


def test_weights_of_a_run_are_measured_too(run_folder: Path, tmp_path: Path) -> None:
    overrides = [*SMALL_STUDY, prepare(tmp_path, 7, run_folder)[-1], "study.documents=3"]
    report = run_study("approximation", run_folder, overrides=overrides)
    assert (report.recipe, report.suite) == ("random", "approximation")
    rows = report.result.rows["approximation"]
    assert unique(rows, "weights") == ["random", "trained"]
    assert {row["length"] for row in rows if row["weights"] == "trained"} == {16, 32}  # documents have 60 tokens
    assert {row["measured"] for row in rows if row["weights"] == "trained"} == {3}  # one layer, three documents
