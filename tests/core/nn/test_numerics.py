import torch

from sumpool.core.nn.numerics import at_least_float32, hash_uniform, indices_of_true, matmul_exactly, round_up


def test_counts_are_rounded_up_to_a_multiple() -> None:
    assert [round_up(count, 4) for count in (0, 1, 4, 5)] == [0, 4, 4, 8]


def test_half_precision_is_widened_only() -> None:
    for given, expected in ((torch.bfloat16, torch.float32), (torch.float16, torch.float32)):
        assert at_least_float32(torch.ones(2, dtype=given)).dtype == expected
    for exact in (torch.float32, torch.float64):
        assert at_least_float32(torch.ones(2, dtype=exact)).dtype == exact


def test_products_are_exact_under_autocast() -> None:
    left, right = torch.rand(2, 3, 4), torch.rand(2, 4, 5)
    with torch.autocast("cpu", torch.bfloat16):
        product = matmul_exactly(left, right.double())
    assert product.dtype is torch.float32
    assert torch.equal(product, left @ right)


def test_hashes_are_uniform_and_reproducible() -> None:
    hashes = hash_uniform(torch.arange(100_000))
    assert bool(((hashes >= 0) & (hashes < 1)).all())
    counts = hashes.histc(bins=20, min=0, max=1)
    torch.testing.assert_close(counts, torch.full((20,), 5000.0), atol=300, rtol=0)
    assert torch.equal(hash_uniform(torch.tensor([[7, 3]])), hashes[torch.tensor([[7, 3]])])
    assert (hashes[:3] * 2**24).tolist() == [5328424, 3208387, 8777908]  # fmix32 of 1, 2 and 3, without 8 bits


def test_indices_of_true_are_in_order() -> None:
    mask = torch.rand(20, 33) < torch.linspace(0, 1, 20)[:, None]
    index, real = indices_of_true(mask, 33)
    for row in range(20):
        assert index[row, real[row]].tolist() == mask[row].nonzero().flatten().tolist()
    assert bool((index < 33).all())
