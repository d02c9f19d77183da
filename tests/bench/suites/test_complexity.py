from functools import partial

import pytest
import torch

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.measures.cost import count
from sumpool.bench.suites.claims import deep_pyramidions
from sumpool.bench.suites.complexity import count_complexity, systems
from sumpool.bench.suites.complexity_rows import FoundComplexity
from sumpool.bench.systems.workload import Conditions, Documents, Subject

SMALL = ComplexityConfig(length=64, keep=4, block=4, target=8, dim=32, heads=4, feed_forward=32, layers=6)


@pytest.fixture(scope="module")
def found() -> FoundComplexity:
    return count_complexity(SMALL)


def test_what_is_counted_without_products_is_what_is_computed(found: FoundComplexity) -> None:
    conditions = Conditions(vocabulary=6, device=torch.device("cpu"), precision=torch.float32)
    documents = Documents.random(1, SMALL.length, SMALL.target, conditions)
    for row in found.complexity:
        model = Subject(systems(SMALL)[row.name], conditions).model.eval()
        read = partial(model.encode, documents.ids, documents.mask, documents.sentences)
        with torch.inference_mode():
            memory = read().tokens
            looked = count(partial(model.decoder.precompute, memory))
            written = count(partial(model.decoder, documents.target, model.decoder.precompute(memory)))
            assert (row.encoder.whole.total, row.decoder.whole.total) == (count(read), looked + written), row.name


def test_lengths_of_both_readings(found: FoundComplexity) -> None:
    lengths = {row.name: (row.lengths, row.memory) for row in found.complexity}
    assert lengths["attention blockwise"] == ((64,) * 6, 64)
    assert lengths["pooling funnel"] == ((64,) * 6, 4)
    assert lengths["DeepPyramidion, leaving"] == ((64, 64, 64, 16, 4, 4), 4)
    assert lengths["DeepPyramidion, entering"] == ((64, 64, 16, 4, 4, 4), 4)


def test_more_layers_stay_at_full_length() -> None:
    settings = SMALL.model_copy(update={"layers": 8})
    deep = deep_pyramidions(systems(settings)["attention blockwise"], settings)
    pools = [[layer.pool is not None for layer in config.encoder] for config in deep.values()]
    assert [places.index(True) for places in pools] == [4, 3]


def test_claims_of_the_paper() -> None:
    """The lengths of the paper in proportion: blocks of 512, 8,192 to 512, with few features."""
    settings = ComplexityConfig(length=512, keep=32, block=32, target=32, dim=16, heads=2, feed_forward=16)
    claims = {claim.what: claim for claim in count_complexity(settings).claims}
    products = claims["self-attention, products"]
    assert (products.leaving, products.entering) == pytest.approx((48 / 27, 48 / 19.5))
    assert products.published == 2.5
    assert claims["cross-attention, products"].entering == pytest.approx(16.0)
    assert claims["decoder, products, 32 tokens"].entering == pytest.approx(11.0)
    assert claims["decoder, products, 16 tokens"].entering == pytest.approx(13.0)
    assert claims["decoder"].entering < claims["cross-attention"].entering < 16


def test_tables(found: FoundComplexity) -> None:
    encoder, decoder, claims = found.tables()
    rows = {row[0]: row for row in encoder.rows}
    assert rows["DeepPyramidion, leaving"][1] == "64 x3 16 4 x2"
    assert rows["attention blockwise"][3] == "16.00"
    assert {row[-1] for row in decoder.rows} == {"yes"}
    assert claims.rows[0][0] == "self-attention, products"


def test_too_few_layers_make_no_claims() -> None:
    found = count_complexity(SMALL.model_copy(update={"layers": 2, "length": 8}))
    assert found.claims == ()
    assert len(list(found.tables())) == 2


def test_check_may_stop_it() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_complexity(SMALL, check=check)
