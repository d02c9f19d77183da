import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from sumpool.core.nn import kernels
from sumpool.core.nn.kernels import MAX_QUERIES, few_query_attention, load_kernels, pointer_log_probs
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


def pointer(rows: int, keys: int) -> tuple[Tensor, Tensor, dict[str, Tensor], Tensor, Tensor]:
    """Arguments of `pointer_log_probs`: three documents of 70 tokens, of which the last has no source."""
    ids = torch.randint(5, 60, (3, keys))
    same = ids[:, :, None] == ids[:, None]  # (documents, keys, keys)
    hidden = (torch.arange(keys) >= keys - keys // 3) & (torch.arange(3) == 1)[:, None]
    precomputed = {
        "key": torch.randn(3, 24, keys),
        "bias": torch.zeros(3, 1, keys).masked_fill_(hidden[:, None], -torch.inf),
        "ids": ids,
        "first": same.long().argmax(-1),
    }
    gate = torch.randn(3, rows, 1)
    gate[2] = torch.inf
    return torch.randn(3, rows, 70), torch.randn(3, rows, 24), precomputed, logsigmoid(gate), logsigmoid(-gate)


@torch.inference_mode()
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (2, 15), (9, 200)])
@pytest.mark.parametrize("scale", [1, 100])  # at which most probabilities are below the smallest number
def test_distribution_of_a_pointer_equals_the_mixture(rows: int, keys: int, scale: float) -> None:
    logits, query, precomputed, generate, copy = pointer(rows, keys)
    logits *= scale
    ids = precomputed["ids"][:, None].expand(-1, rows, -1)
    attention = (query.double() @ precomputed["key"].double() + precomputed["bias"]).softmax(-1)
    copied = torch.zeros(logits.shape, dtype=torch.double).scatter_add_(2, ids, copy.double().exp() * attention)
    mixture = torch.logaddexp(logits.double().log_softmax(-1) + generate, copied.log())
    log_probs = pointer_log_probs(logits, query, precomputed, generate, copy)
    assert log_probs is not None
    torch.testing.assert_close(log_probs.double(), mixture, rtol=4e-6, atol=4e-6)


@torch.inference_mode()
def test_neither_batch_mates_nor_padding_change_the_distribution_of_a_pointer() -> None:
    logits, query, precomputed, generate, copy = pointer(9, 37)
    alone = pointer_log_probs(
        logits[1:2, 3:5].clone(),
        query[1:2, 3:5].clone(),
        {name: tensor[1:2] for name, tensor in precomputed.items()},
        generate[1:2, 3:5].clone(),
        copy[1:2, 3:5].clone(),
    )
    padding = {"key": 7.0, "bias": -torch.inf, "ids": 0, "first": 37}
    padded = {name: pad(tensor, (0, 11), value=padding[name]) for name, tensor in precomputed.items()}
    wider = pointer_log_probs(logits.clone(), query, padded, generate, copy)
    log_probs = pointer_log_probs(logits, query, precomputed, generate, copy)
    assert log_probs is not None
    assert wider is not None
    assert alone is not None
    assert wider.equal(log_probs)
    assert alone.equal(log_probs[1:2, 3:5])


@torch.inference_mode()
def test_nan_of_logits_or_keys_stays_in_its_row() -> None:
    logits, query, precomputed, generate, copy = pointer(3, 20)
    logits[0, 1, 69] = query[1, 2, 0] = torch.nan
    log_probs = pointer_log_probs(logits, query, precomputed, generate, copy)
    assert log_probs is not None
    assert log_probs.isnan().any(-1).tolist() == [[False, True, False], [False, False, True], [False] * 3]
    assert log_probs[0, 1].isnan().all()


def test_a_pointer_is_left_to_torch_where_the_kernel_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, query, precomputed, generate, copy = pointer(2, 9)
    assert pointer_log_probs(logits, query, precomputed, generate, copy) is None  # gradients may be needed
    with torch.inference_mode():
        assert pointer_log_probs(logits.double(), query, precomputed, generate, copy) is None
        narrow = precomputed | {"key": precomputed["key"][:, :20].contiguous()}
        assert pointer_log_probs(logits, query[..., :20].contiguous(), narrow, generate, copy) is None
        strided = precomputed | {"key": precomputed["key"].mT.contiguous().mT}
        assert pointer_log_probs(logits, query, strided, generate, copy) is None
        monkeypatch.setattr(kernels, "load_kernels", lambda: None)
        assert pointer_log_probs(logits, query, precomputed, generate, copy) is None
