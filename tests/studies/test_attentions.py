import pytest
import torch
from pydantic import ValidationError

from sumpool.bench.results import Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention.convolutional import ConvolutionalAttentionConfig
from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from sumpool.progress import Progress
from sumpool.settings import kinds
from sumpool.studies import attentions
from sumpool.studies.attentions import (
    SWEEP,
    attention_config,
    fit_row,
    measure_attention_costs,
)
from sumpool.studies.config import AttentionsConfig

CONDITIONS = Conditions(100, torch.device("cpu"), torch.float32)


def measured(*costs: tuple[int, float]) -> list[Row]:
    return [
        Row({"length": length, "seconds": seconds, "memory": None, "operations": 3 * length})
        for length, seconds in costs
    ]


def test_exponent_and_constant_of_a_power_law() -> None:
    fit = fit_row("x", measured((1000, 0.5), (2000, 2.0), (4000, 8.0)))
    assert fit["seconds_exponent"] == pytest.approx(2)
    assert fit["seconds_constant"] == pytest.approx(0.5)
    assert fit["operations_exponent"] == pytest.approx(1)
    assert fit["operations_constant"] == pytest.approx(3000)
    assert (fit["memory_exponent"], fit["longest"]) == (None, 4000)


def test_two_lengths_are_too_few_for_a_fit() -> None:
    fit = fit_row("x", measured((1000, 0.5), (2000, 2.0)))
    assert (fit["seconds_exponent"], fit["seconds_constant"]) == (None, None)


def test_every_attention_is_measured_beside_its_counted_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Progress] = []
    monkeypatch.setattr(attentions, "available", lambda _: 2**60)
    monkeypatch.setattr(attentions, "try_peak", lambda *_: (1000, ""))
    settings = AttentionsConfig(lengths=(8, 16, 32), dim=8, heads=2, repeats=1, seconds=1000)
    result = measure_attention_costs(settings, CONDITIONS, heard.append)
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
    rows = measure_attention_costs(settings, CONDITIONS).rows["attention_lengths"]
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


def test_longer_documents_are_left_out_where_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attentions, "kinds", lambda _: ("vanilla",))
    settings = AttentionsConfig(lengths=(8, 16), dim=8, heads=2, repeats=1, seconds=1e-9)
    result = measure_attention_costs(settings, CONDITIONS)
    assert [row["length"] for row in result.rows["attention_lengths"]] == [8]


def test_a_document_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attentions, "kinds", lambda _: ("vanilla",))
    monkeypatch.setattr(attentions, "try_peak", lambda *_: (None, "out of memory"))
    settings = AttentionsConfig(lengths=(8, 16), dim=8, heads=2, repeats=1)
    assert measure_attention_costs(settings, CONDITIONS).rows["attention_lengths"] == []


def test_sizes_follow_document_and_heads() -> None:
    assert attention_config("linformer", 4096, 4).model_dump()["length"] == 4096
    assert attention_config("lsh", 8, 2).model_dump()["local_heads"] == 1
    with pytest.raises(ValidationError, match="heads must divide dim = 64, got 5"):
        AttentionsConfig(heads=5)
