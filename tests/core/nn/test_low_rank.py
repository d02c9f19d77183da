import torch

from sumpool.core.nn.low_rank import sample_tokens, step_seed


def test_tokens_are_drawn_uniformly_without_replacement() -> None:
    mask = torch.ones(1, 40, dtype=torch.bool)
    counts = torch.zeros(40)
    for seed in range(2000):
        index, is_drawn = sample_tokens(mask, 10, seed, 0)
        assert is_drawn.all()
        assert len(set(index[0].tolist())) == 10
        counts[index[0]] += 1
    assert counts.min() > 400
    assert counts.max() < 600


def test_draws_depend_on_the_document_only() -> None:
    lengths = torch.tensor([3, 40, 0, 17])
    mask = torch.arange(64)[None] < lengths[:, None]
    for replacement in (False, True):
        index, is_drawn = sample_tokens(mask, 12, 5, 1, replacement)
        for number, real in enumerate(lengths.tolist()):
            alone, exists = sample_tokens(mask[number : number + 1, : max(1, real)], 12, 5, 1, replacement)
            drawn = index[number, is_drawn[number]]
            assert torch.equal(drawn, alone[exists])
            assert (drawn < real).all()
            assert len(drawn) == (0 if real == 0 else 12 if replacement else min(real, 12))


def test_gaps_in_the_mask_are_never_drawn() -> None:
    mask = torch.arange(50)[None] % 3 == 1
    for replacement in (False, True):
        index, is_drawn = sample_tokens(mask, 8, 2, 0, replacement)
        assert (index[is_drawn] % 3 == 1).all()


def test_seeds_and_streams_differ() -> None:
    mask = torch.ones(1, 400, dtype=torch.bool)
    draws = [sample_tokens(mask, 20, seed, stream)[0].tolist() for seed, stream in ((0, 0), (0, 1), (1, 0))]
    assert draws[0] != draws[1]
    assert draws[0] != draws[2]
    assert draws[1] != draws[2]


def test_seed_of_a_step() -> None:
    assert step_seed(3, redraw=False) == 3
    torch.manual_seed(1)
    seeds = {step_seed(3, redraw=True) for _ in range(9)}
    assert len(seeds) == 9
    torch.manual_seed(1)
    assert step_seed(3, redraw=True) in seeds
