from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad
from torch.utils.flop_counter import FlopCounterMode

from sumpool.core.nn import kernels
from sumpool.core.nn.kernels import kernels_for, load_kernels, pointer_log_probs

pytestmark = pytest.mark.skipif(load_kernels() is None, reason="needs compiled kernels and AVX512-VNNI")


def test_a_library_of_another_version_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace(int8_linear=SimpleNamespace()))
    assert load_kernels.__wrapped__() is None


def test_kernels_compute_contiguous_floats_without_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.randn(3, 4)
    assert kernels_for(rows) is None
    with torch.inference_mode():
        assert kernels_for(rows) is load_kernels()
        assert kernels_for(rows, rows.double()) is None
        assert kernels_for(rows, rows.T) is None
        with FlopCounterMode(display=False):
            assert kernels_for(rows) is None
        monkeypatch.setattr(kernels, "load_kernels", lambda: None)
        assert kernels_for(rows) is None


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


@torch.inference_mode()
def test_a_pointer_is_left_to_torch_where_the_kernel_does_not_apply() -> None:
    logits, query, precomputed, generate, copy = pointer(2, 9)
    narrow = precomputed | {"key": precomputed["key"][:, :20].contiguous()}
    assert pointer_log_probs(logits, query[..., :20].contiguous(), narrow, generate, copy) is None
    strided = precomputed | {"first": precomputed["first"].T.contiguous().T}
    assert pointer_log_probs(logits, query, strided, generate, copy) is None
    assert pointer_log_probs(logits.double(), query, precomputed, generate, copy) is None
