import math

import pytest
import torch

from sumpool.core.nn.positions import RelativePositions, RotaryPositions, build_positions, sinusoid


@pytest.mark.parametrize(("inclusive", "steps"), [(True, 3), (False, 4)])
def test_frequencies_fall_to_a_ten_thousandth(inclusive: bool, steps: int) -> None:
    angles = [7 * 10_000 ** (-i / steps) for i in range(4)]
    expected = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
    torch.testing.assert_close(sinusoid(torch.tensor(7), 8, inclusive=inclusive), expected, atol=1e-6, rtol=0)


def test_rotary_multiplies_pairs_as_complex_numbers() -> None:
    states = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    positions = torch.randint(0, 20_000, (2, 5))
    rotary = build_positions("rotary", heads=3, head_dim=6)
    assert rotary.bias(positions) is None
    rotated = rotary.rotate(states, positions)
    for pair in range(3):
        angle = positions[:, None].double() * 10000 ** (-2 * pair / 6)
        expected = torch.complex(states[..., pair], states[..., pair + 3]) * torch.exp(1j * angle)
        torch.testing.assert_close(rotated[..., pair], expected.real)
        torch.testing.assert_close(rotated[..., pair + 3], expected.imag)


def test_rotary_is_as_exact_far_from_zero_in_float32() -> None:
    states = torch.randn(1, 1, 2, 64)
    near, far = (RotaryPositions(64).rotate(states, torch.tensor([[0, 7]]) + shift) for shift in (0, 1_000_000))
    products = [rotated[0, 0, 0] @ rotated[0, 0, 1] for rotated in (near, far)]
    torch.testing.assert_close(*products, atol=1e-5, rtol=0)


def bucket(distance: int) -> int:
    """T5's formula for one direction: 16 exact distances, then 16 by their logarithm up to 8192."""
    if distance < 16:
        return distance
    return min(31, 16 + math.floor(math.log(distance / 16) / math.log(8192 / 16) * 15 + 1e-9))


def test_relative_bias_is_that_of_the_bucket_of_each_distance() -> None:
    relative = build_positions("relative", heads=2, head_dim=6).double()
    assert isinstance(relative, RelativePositions)
    torch.nn.init.normal_(relative.weight)
    positions = torch.tensor([[0, 1, 5, 15, 16, 24, 25, 40, 500, 3000, 8191, 8192, 50_000]])
    bias = relative.bias(positions)
    for query, start in enumerate(positions[0].tolist()):
        for key, end in enumerate(positions[0].tolist()):
            index = bucket(abs(end - start)) + (32 if end > start else 0)
            assert torch.equal(bias[0, :, query, key], relative.weight[:, index])
    assert torch.equal(relative.bias(positions, slice(2, 5)), bias[:, :, 2:5])
