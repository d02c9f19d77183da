import pytest
import torch

from sumpool.core.nn.windows import Windows


def rows(*lengths: int) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def test_chunks_attend_to_themselves_and_their_neighbours() -> None:
    mask = rows(8)
    windows = Windows(mask, reach=2)
    values = torch.arange(1, 9)[None]
    assert windows.chunks(values).tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert windows.windows(values)[:2].tolist() == [[0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]
    assert windows.visible[1].int().tolist() == [[1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1]]
    assert windows.visible[0].int().tolist() == [[0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1]]


def test_the_first_token_is_prepended_and_masked_at_its_position() -> None:
    windows = Windows(rows(8), reach=2, first=1)
    values = torch.arange(1, 9)[None]
    assert windows.windows(values)[1].tolist() == [1, 1, 2, 3, 4, 5, 6]
    assert windows.visible[1].int().tolist() == [[1, 0, 1, 1, 1, 1, 0], [1, 0, 1, 1, 1, 1, 1]]


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize(("lengths", "reach"), [((11, 3, 0), 2), ((5, 4), 2), ((9,), 1), ((4,), 50), ((0, 13), 3)])
def test_chunks_are_joined_and_windows_summed(lengths: tuple[int, ...], reach: int, first: int) -> None:
    mask = rows(*lengths)
    windows = Windows(mask, reach, first)
    values = torch.randn(*mask.shape, 3) * mask[..., None]
    torch.testing.assert_close(windows.join(windows.chunks(values)), values)
    visible = windows.visible & windows.chunks(mask)[..., None]
    count = windows.sum_windows(visible.sum(1).double())
    for row, real in enumerate(lengths):
        for token in range(real):
            near = range(max(0, token - reach), min(real, token + reach + 1))
            neighbours = range(real) if token < first else near
            assert count[row, token] == len(neighbours)


def test_chunks_of_padding_are_skipped() -> None:
    windows = Windows(rows(40, 3, 9), reach=4)
    assert len(windows.chunks(rows(40, 3, 9))) == 10 + 1 + 3


def test_causal_windows_see_earlier_tokens_only() -> None:
    windows = Windows(rows(8), reach=2, causal=True)
    assert windows.visible[1].int().tolist() == [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 0, 0]]
