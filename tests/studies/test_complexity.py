from functools import partial

import pytest
import torch

from sumpool.bench.measures import count
from sumpool.bench.results import Result
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.settings import kinds
from sumpool.studies import complexity
from sumpool.studies.complexity import count_complexity, deep_pyramidions, systems
from sumpool.studies.config import ComplexityConfig
from sumpool.studies.study import Steps

PAPER = ComplexityConfig(length=512, keep=32, block=32, target=32, dim=16, heads=2, feed_forward=16)
"""The lengths of the paper in proportion: blocks of 512, 8,192 to 512, with few features."""
ODD = ComplexityConfig(length=187, keep=5, block=11, target=3, dim=32, heads=4, feed_forward=64, layers=2)
"""Nothing divides anything, and the last block is shorter."""
CONDITIONS = Conditions(vocabulary=6, device=torch.device("cpu"), precision=torch.float32)
COMPARED = ("attention vanilla", "attention blockwise", "pooling funnel", "DeepPyramidion")


@pytest.fixture(scope="module")
def found() -> Result:
    """Counts of the models that the paper compares; `ODD` counts every variant."""
    compared = {name: model for name, model in systems(PAPER).items() if name.startswith(COMPARED)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complexity, "systems", lambda _: compared)
        return count_complexity(PAPER, CONDITIONS, Steps())


def test_every_variant_is_counted_at_the_default_length() -> None:
    expected = {f"attention {kind}" for kind in kinds("sumpool.core.attention")}
    expected |= {f"pooling {kind}" for kind in kinds("sumpool.core.pooling")}
    expected |= {"cross-attention hepos", "DeepPyramidion (output)", "DeepPyramidion (input)"}
    assert set(systems(PAPER)) == expected
    assert not any("Deep" in name for name in systems(PAPER.model_copy(update={"layers": 4})))
    assert {config.source_length for config in systems(ComplexityConfig()).values()} == {ComplexityConfig().length}
    longer = PAPER.model_copy(update={"layers": 8})
    deep = deep_pyramidions(systems(longer)["attention blockwise"], longer)
    pools = [[layer.pool is not None for layer in config.encoder] for config in deep.values()]
    assert [places.index(True) for places in pools] == [4, 3]


def test_products_and_lengths_are_those_of_table_1(found: Result) -> None:
    rows = {row["name"]: row for row in found.rows["encoders"]}
    for name, keys in (("vanilla", 512), ("blockwise", 32)):
        layer = rows[f"attention {name}"]["products"] / len(rows["attention vanilla"]["lengths"])
        assert layer == 2 * 2 * 512 * keys * 16
        assert rows[f"attention {name}"]["attention"] - 6 * layer == 6 * 2 * 512 * 4 * 16 * 16
    lengths = {row["name"]: (row["lengths"], row["memory"]) for row in found.rows["encoders"]}
    assert lengths["attention blockwise"] == ((512,) * 6, 512)
    assert lengths["pooling funnel"] == ((512,) * 6, 32)
    assert lengths["DeepPyramidion (output)"] == ((512, 512, 512, 128, 32, 32), 32)
    assert lengths["DeepPyramidion (input)"] == ((512, 512, 128, 32, 32, 32), 32)


def test_what_is_counted_without_products_is_what_is_computed() -> None:
    found = count_complexity(ODD, CONDITIONS, Steps())
    assert found.rows["claims"] == [], "too few layers make no claims"
    assert len(found.tables) == 2
    documents = Documents.random(1, ODD.length, ODD.target, CONDITIONS)
    for encoder, decoder in zip(found.rows["encoders"], found.rows["decoders"], strict=True):
        model = Subject(systems(ODD)[encoder["name"]], CONDITIONS).model.eval()
        read = partial(model.encode, documents.ids, documents.mask, documents.sentences)
        with torch.inference_mode():
            memory = read().tokens
            looked = count(partial(model.decoder.precompute, memory))
            written = count(partial(model.decoder, documents.target, model.decoder.precompute(memory)))
            assert (encoder["whole"], decoder["whole"]) == (count(read), looked + written), encoder["name"]


def test_claims_and_tables_of_the_paper(found: Result) -> None:
    claims = {claim["what"]: claim for claim in found.rows["claims"]}
    products = claims["self-attention, products"]
    assert (products["output"], products["input"]) == pytest.approx((48 / 27, 48 / 19.5))
    assert products["published"] == 2.5
    assert claims["cross-attention, products"]["input"] == pytest.approx(16.0)
    assert claims["decoder, products, 32 tokens"]["input"] == pytest.approx(11.0)
    assert claims["decoder, products, 16 tokens"]["input"] == pytest.approx(13.0)
    assert claims["decoder"]["input"] < claims["cross-attention"]["input"] < 16
    encoder, decoder, claimed = found.tables
    rows = {cells[0]: cells for cells in encoder.cells()}
    assert rows["DeepPyramidion (output)"][1] == "3 x 512, 128, 2 x 32"
    assert rows["attention blockwise"][3] == "16.00"
    assert len(decoder.cells()) == len(rows)
    assert claimed.cells()[0][0] == "self-attention, products"
