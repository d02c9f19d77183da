import math

import pytest
import torch

from sumpool.core.nn.positions import (
    AttentionPositions,
    PositionsKind,
    RelativePositions,
    RotaryPositions,
    build_positions,
    sinusoid,
)


def test_first_position_is_zero_sines_and_one_cosines() -> None:
    assert sinusoid(torch.tensor([0]), 6).tolist() == [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize(("inclusive", "steps"), [(True, 3), (False, 4)])
def test_frequencies_fall_to_a_ten_thousandth(inclusive: bool, steps: int) -> None:
    angles = [7 * 10_000 ** (-i / steps) for i in range(4)]
    expected = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
    torch.testing.assert_close(sinusoid(torch.tensor(7), 8, inclusive=inclusive), expected, atol=1e-6, rtol=0)


def test_a_position_has_the_same_code_at_every_index() -> None:
    codes = sinusoid(torch.tensor([[3, 9], [9, 3]]), 8)
    assert torch.equal(codes[0], codes[1].flip(0))
    assert not torch.equal(codes[0, 0], codes[0, 1])


def test_rotary_multiplies_pairs_as_complex_numbers() -> None:
    states = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    positions = torch.randint(0, 20_000, (2, 5))
    rotated = RotaryPositions(6).rotate(states, positions)
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
    relative = RelativePositions(2).double()
    torch.nn.init.normal_(relative.weight)
    positions = torch.tensor([[0, 1, 5, 15, 16, 24, 25, 40, 500, 3000, 8191, 8192, 50_000]])
    bias = relative.bias(positions)
    for query, start in enumerate(positions[0].tolist()):
        for key, end in enumerate(positions[0].tolist()):
            index = bucket(abs(end - start)) + (32 if end > start else 0)
            assert torch.equal(bias[0, :, query, key], relative.weight[:, index])
    assert torch.equal(relative.bias(positions, slice(2, 5)), bias[:, :, 2:5])


@pytest.mark.parametrize("kind", ["none", "rotary", "relative"])
def test_only_differences_of_positions_matter(kind: PositionsKind) -> None:
    positions = build_positions(kind, heads=2, head_dim=8).double()
    if isinstance(positions, RelativePositions):
        torch.nn.init.normal_(positions.weight)
    query, key = torch.randn(2, 3, 2, 9, 8, dtype=torch.float64)
    source_positions = torch.randint(0, 9000, (3, 9)).sort(1).values

    def scores(source_positions: torch.Tensor, positions: AttentionPositions = positions) -> torch.Tensor:
        bias = positions.bias(source_positions)
        products = positions.rotate(query, source_positions) @ positions.rotate(key, source_positions).transpose(2, 3)
        return products if bias is None else products + bias

    torch.testing.assert_close(scores(source_positions + 12_345), scores(source_positions))
    assert torch.equal(scores(source_positions), scores(source_positions * 2)) == (kind == "none")
