import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from sumpool.core.nn import kernels
from sumpool.core.nn.kernels import MAX_QUERIES, few_query_attention, load_kernels
from sumpool.core.nn.masking import step_attention

pytestmark = pytest.mark.skipif(load_kernels() is None, reason="needs compiled kernels and AVX512-VNNI")


def attention(queries: int, keys: int, features: int = 64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value and bias of three documents and two heads, as views with gaps; every fifth key is hidden."""
    query = torch.randn(3, queries, 2, features).transpose(1, 2)
    key, value = torch.randn(2, 3, 2, keys + 7, features)[:, :, :, :keys].unbind()
    bias = torch.randn(3, 1, queries, keys).masked_fill_(torch.arange(keys) % 5 == 4, -torch.inf)
    return query, key, value, bias


@torch.inference_mode()
@pytest.mark.parametrize(
    ("queries", "keys", "features"), [(1, 1, 64), (2, 15, 64), (3, 16, 96), (5, 33, 32), (16, 700, 192)]
)
def test_attention_of_few_queries_equals_that_of_torch(queries: int, keys: int, features: int) -> None:
    query, key, value, bias = attention(queries, keys, features)
    for scale, each in ((1, bias), (1, bias[:, :, :1]), (1, None), (30, bias)):  # then one key has nearly all weight
        exact_bias = None if each is None else each.double()
        exact = scaled_dot_product_attention(scale * query.double(), key.double(), value.double(), exact_bias)
        mixed = few_query_attention(scale * query, key, value, each)
        assert mixed is not None
        torch.testing.assert_close(mixed.double(), exact, rtol=0, atol=2e-6 if scale == 1 else 1e-4)
        assert each is None or step_attention(scale * query, key, value, each).equal(mixed)


@torch.inference_mode()
def test_neither_batch_mates_nor_padding_change_attention() -> None:
    query, key, value, bias = attention(6, 40)
    mixed = few_query_attention(query, key, value, bias)
    assert mixed is not None
    for first, count in ((0, 1), (1, 2), (2, 3), (1, 5)):
        rows = slice(first, first + count)
        some = few_query_attention(query[1:2, :, rows], key[1:2], value[1:2], bias[1:2, :, rows])
        assert some is not None
        assert some.equal(mixed[1:2, :, rows])
    key, value = (torch.cat([part, torch.randn(3, 2, 24, 64)], dim=2) for part in (key, value))
    wider = few_query_attention(query, key, value, pad(bias, (0, 24), value=-torch.inf))
    assert wider is not None
    assert wider.equal(mixed)


@torch.inference_mode()
def test_nan_of_a_visible_key_stays() -> None:
    query, key, value, bias = attention(3, 20)
    key[1, 0, 7] = torch.nan
    mixed = few_query_attention(query, key, value, bias)
    assert mixed is not None
    assert mixed.isnan().all(-1).any(-1).tolist() == [[False, False], [True, False], [False, False]]


def test_the_kernel_is_left_out_where_it_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value, bias = attention(2, 9)
    assert few_query_attention(query, key, value, bias) is None  # gradients may be needed
    with torch.inference_mode():
        assert few_query_attention(query, key, value, bias) is not None
        assert few_query_attention(query.double(), key.double(), value.double(), None) is None
        assert few_query_attention(query, key, value, bias.double()) is None
        assert few_query_attention(query, key.mT.contiguous().mT, value, bias) is None
        assert few_query_attention(query, key[:1], value[:1], bias) is None
        assert few_query_attention(*attention(2, 9, 48)) is None
        assert few_query_attention(*attention(MAX_QUERIES + 1, 9)) is None
        with FlopCounterMode(display=False):
            assert few_query_attention(query, key, value, bias) is None
        monkeypatch.setattr(kernels, "load_kernels", lambda: None)
        assert few_query_attention(query, key, value, bias) is None
