import torch

from sumpool.pretrained.positions import extend_positions

LEARNED = torch.arange(3.0)[:, None]


def places(length: int, how: str) -> list[float]:
    assert how in ("repeat", "flip")
    return extend_positions(LEARNED, length, "repeat" if how == "repeat" else "flip").flatten().tolist()


def test_copies_follow_the_learned_positions() -> None:
    assert places(8, "repeat") == [0, 1, 2, 0, 1, 2, 0, 1]
    assert places(8, "flip") == [0, 1, 2, 2, 1, 0, 0, 1]


def test_learned_positions_are_kept_or_truncated() -> None:
    for how in ("repeat", "flip"):
        assert places(3, how) == [0, 1, 2]
        assert places(2, how) == [0, 1]
