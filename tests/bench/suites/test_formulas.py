from collections import Counter

import pytest
import torch

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.measures.cost import ALL, Operations, count_modules
from sumpool.bench.suites import attention_formulas, complexity, formulas
from sumpool.bench.suites.attention_costs import attention_config
from sumpool.bench.suites.attention_formulas import self_attention
from sumpool.bench.suites.complexity import count_complexity, systems
from sumpool.bench.suites.formulas import cross_attention, pooling
from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.convolutional import ConvolutionalAttentionConfig
from sumpool.core.attention.dilated import DilatedAttentionConfig
from sumpool.core.attention.efficient import EfficientAttentionConfig
from sumpool.core.attention.global_tokens import GlobalTokensAttentionConfig
from sumpool.core.attention.linear import LinearAttentionConfig
from sumpool.core.attention.longformer import LongformerAttentionConfig
from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from sumpool.core.attention.performer import PerformerAttentionConfig
from sumpool.core.attention.routing import RoutingAttentionConfig
from sumpool.core.attention.sinkhorn import SinkhornAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.cross_attention.hepos import HeposCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling.hard import HardPoolerConfig
from sumpool.core.scoring.attention_mass import AttentionMassScorerConfig
from sumpool.settings import kinds

SMALL = ComplexityConfig(length=48, keep=8, block=16, target=10, dim=32, heads=4, feed_forward=64, layers=5)
SHALLOW = SMALL.model_copy(update={"layers": 2})


def test_every_variant_is_counted() -> None:
    expected = {f"attention {kind}" for kind in kinds("sumpool.core.attention")}
    expected |= {f"pooling {kind}" for kind in kinds("sumpool.core.pooling")}
    expected |= {"cross-attention hepos"}
    expected |= {"DeepPyramidion (output)", "DeepPyramidion (input)"}
    assert set(systems(SMALL)) == expected
    assert not any("Deep" in name for name in systems(SMALL.model_copy(update={"layers": 4})))


def two_systems(settings: ComplexityConfig) -> dict[str, ModelConfig]:
    return {name: systems(settings)[name] for name in ("attention vanilla", "attention lsh")}


def test_counters_that_disagree_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(config: CrossAttentionConfig, *sizes: int) -> object:
        right = cross_attention(config, *sizes)
        return right + Counter(maps=1)

    monkeypatch.setattr(formulas, "cross_attention", wrong)
    monkeypatch.setattr(complexity, "systems", two_systems)
    assert {row["agreement"] for row in count_complexity(SHALLOW).rows["decoders"]} == {"NO"}


def test_products_are_those_of_table_1() -> None:
    length, dim, heads, block = 48, 32, 4, 16
    seen = {
        length: self_attention(VanillaAttentionConfig(), length, dim, heads),
        block: self_attention(BlockwiseAttentionConfig(block=block), length, dim, heads),
        dim // heads: self_attention(EfficientAttentionConfig(), length, dim, heads),
    }
    for keys, cost in seen.items():
        assert cost["products"] == 2 * 2 * length * keys * dim
        assert cost["maps"] == 2 * length * 4 * dim * dim


def count_operations(attention: Attention, length: int) -> Operations:
    """Operations of a layer on one document, as torch sees them."""
    states, places = torch.randn(1, length, 32), torch.arange(length)[None]
    with torch.inference_mode():
        return count_modules(lambda: attention(states, places >= 0, places))[ALL]


def assert_counted(config: AttentionConfig) -> None:
    """Compare the closed form with what torch sees, for documents shorter and longer than windows and blocks."""
    for length in (12, 13, 187):
        counted, cost = count_operations(config.build(32, 4), length), self_attention(config, length, 32, 4)
        assert (counted["maps"], counted["products"]) == (cost["maps"], cost["products"]), length


def test_what_is_held() -> None:
    dense, blocks = (
        self_attention(config, 48, 32, 4) for config in (VanillaAttentionConfig(), BlockwiseAttentionConfig(block=16))
    )
    assert (dense["keys_values"], dense["weights"], dense["activations"]) == (2 * 48 * 32, 4 * 48 * 48, 3 * 48 * 32)
    assert blocks["weights"] == 4 * 48 * 16
    full, strides = (
        cross_attention(config, 10, 9, 32, 4)
        for config in (FullCrossAttentionConfig(), HeposCrossAttentionConfig(stride=4))
    )
    assert (full["keys_values"], strides["keys_values"]) == (2 * 9 * 32, 2 * 3 * 32)


@pytest.mark.parametrize(
    "config",
    [
        SlidingWindowAttentionConfig(window=8, global_first=True),
        DilatedAttentionConfig(window=8, dilation=3),
        LongformerAttentionConfig(window=8, global_tokens=5),
        LongformerAttentionConfig(window=4, global_tokens=13),
        GlobalTokensAttentionConfig(window=8, tokens=3),
        LongformerAttentionConfig(window=8, global_tokens=20, separate=True),
        NeighborhoodAttentionConfig(radius=6, edges="shift"),
        LinearAttentionConfig(causal=True),
        PerformerAttentionConfig(causal=True, features=12),
        VanillaAttentionConfig(causal=True),
        ConvolutionalAttentionConfig(kernel=5, stride=2),
        ConvolutionalAttentionConfig(per_head=True),
        SinkhornAttentionConfig(block=8),
        RoutingAttentionConfig(clusters=5, cluster_tokens=10),
    ],
    ids=[
        "first token",
        "dilation",
        "global tokens",
        "global chunks",
        "learned tokens",
        "separate projections",
        "shifted",
        "causal",
        "causal features",
        "causal vanilla",
        "convolution",
        "convolution per head",
        "sorted blocks",
        "clusters",
    ],
)
def test_settings_are_counted(config: AttentionConfig) -> None:
    assert_counted(config)


@pytest.mark.parametrize("kind", kinds("sumpool.core.attention"))
def test_kept_heads_are_counted(kind: str) -> None:
    config = attention_config(kind, 21, 4)
    if not config.build(32, 4).independent_heads:
        return
    for kept in ((0, 1, 3), (1, 3), (2, 3)):
        attention = config.build(32, 4)
        attention.prune_heads(kept)
        counted = count_operations(attention, 21)
        cost, whole = self_attention(config, 21, 32, 4, kept), self_attention(config, 21, 32, 4)
        assert (counted["maps"], counted["products"]) == (cost["maps"], cost["products"]), kept
        assert 21 * 32 <= cost["activations"] < whole["activations"]
        assert self_attention(config, 21, 32, 4, (0, 1, 2, 3)) == whole


def test_models_with_kept_heads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = systems(SMALL)["attention vanilla"]
    layers = [
        layer.model_copy(update={"kept_heads": (1, 3) if index else None}) for index, layer in enumerate(model.encoder)
    ]
    kept = ((0,), (1, 2), (0, 1, 2), (3,), (0, 1, 2, 3))
    decoder = model.decoder.model_copy(update={"kept_heads": kept, "kept_cross_heads": kept[::-1]})
    pruned = model.model_copy(update={"encoder": layers, "decoder": decoder})
    monkeypatch.setattr(complexity, "systems", lambda _: {"attention vanilla": model, "pruned": pruned})
    monkeypatch.setattr(complexity, "claim_rows", lambda *_: [])
    rows = count_complexity(SMALL).rows
    for whole, part in (rows["encoders"], rows["decoders"]):
        assert part["agreement"] == "yes"
        assert part["keys_values"] < whole["keys_values"]
        assert part["attention"] < whole["attention"]


def test_a_variant_without_a_formula() -> None:
    with pytest.raises(KeyError, match="attention_mass"):
        pooling(HardPoolerConfig(keep=2, scorer=AttentionMassScorerConfig()), 8, 4)


def test_unknown_formulas_leave_cells_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complexity, "systems", two_systems)
    monkeypatch.delitem(attention_formulas._SELF_ATTENTION, "lsh")
    rows = {row["name"]: row for row in count_complexity(SHALLOW).rows["encoders"]}
    assert (rows["attention lsh"]["agreement"], rows["attention lsh"]["weights"]) == (None, None)
    assert rows["attention vanilla"]["agreement"] == "yes"
