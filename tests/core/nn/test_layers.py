"""Feed-forward layers and residual connections."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import Dropout, Residual, SkipInit, one_thread, run_layer
from sumpool.core.nn.positions import Embed, sinusoid
from sumpool.special_tokens import PAD
from tests.core.emulated_gpu import GpuTensor, emulated_gpu


def test_dropout_spares_the_residual() -> None:
    states = torch.ones(1, 1, 1000)
    added = Residual(1000, "pre", dropout=0.5).add(states, torch.ones_like(states))
    assert set(added.unique().tolist()) == {1.0, 3.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.937])
def test_elements_are_dropped_and_the_others_scaled(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    states = torch.ones(500, 401, dtype=dtype, requires_grad=True)
    dropped = Dropout(p)(states)
    assert dropped.dtype == dtype
    share = (dropped == 0).double().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p) / states.numel()) ** 0.5)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - p), rel=0.004 if dtype is torch.bfloat16 else 2e-4)
    dropped.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad, dropped.detach())


def test_elements_are_dropped_independently() -> None:
    """No element follows from its neighbours, with which it shares a random number."""
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(10**6)) > 0).double() - 0.5
    for distance in (1, 2, 3, 4, 8, 1000):
        correlation = 4 * (kept[distance:] * kept[:-distance]).mean().item()
        assert abs(correlation) < 0.005


def test_draws_follow_the_seed() -> None:
    states, dropout = torch.ones(7, 9).t(), Dropout(0.3)
    torch.manual_seed(5)
    first, second = dropout(states), dropout(states)
    torch.manual_seed(5)
    assert torch.equal(dropout(states), first)
    assert not torch.equal(first, second)
    assert first.shape == states.shape


def test_limits() -> None:
    states = torch.ones(3, 5)
    assert Dropout(0.0)(states) is states
    assert Dropout(0.5).eval()(states) is states
    assert not Dropout(1.0)(states).any()
    assert Dropout(0.5)(torch.ones(0)).shape == (0,)
    with pytest.raises(ValueError, match=r"p must be from 0 to 1, got 1\.5"):
        Dropout(1.5)


def test_other_devices_draw_as_pytorch_does() -> None:
    with emulated_gpu() as gpu:
        states = GpuTensor(torch.ones(64, 64))
        torch.manual_seed(2)
        ours = Dropout(0.4)(states)
        torch.manual_seed(2)
        theirs = nn.Dropout(0.4)(states)
        assert isinstance(ours, GpuTensor)
        assert isinstance(theirs, GpuTensor)
        assert torch.equal(ours.memory, theirs.memory)
    assert not gpu.synchronisations


VOCAB = 20


def make_config(**settings: object) -> ModelConfig:
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "dropout": 0.0, "source_length": 30, "target_length": 12}
    layer = {"attention": {"kind": "vanilla"}}
    return ModelConfig.model_validate({**sizes, "encoder": [layer], "decoder": {"layers": 1}, **settings})


def make_embed(config: ModelConfig) -> Embed:
    return config.build_embed(nn.Embedding(VOCAB, 16), config.positions, config.source_length).double()


def make_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and positions; those of the first document start at 3."""
    positions = torch.stack([torch.arange(3, 9), torch.arange(6)])
    return torch.randint(0, VOCAB, (2, 6)), torch.arange(6) < torch.tensor([[6], [4]]), positions


def test_sinusoidal_positions_are_added_and_none_add_nothing() -> None:
    ids, mask, positions = make_batch()
    sinusoidal, none = (make_embed(make_config(positions=positions)) for positions in ("sinusoidal", "none"))
    sinusoidal.load_state_dict(none.state_dict())
    plain = none(ids, mask, positions)
    torch.testing.assert_close(plain, 4 * none.embedding.weight[ids] * mask[..., None])
    torch.testing.assert_close(sinusoidal(ids, mask, positions), plain + sinusoid(positions, 16))


def test_the_embedding_of_padding_is_never_read() -> None:
    embed = make_embed(make_config(positions="learned", embedding_norm=True))
    ids, mask, positions = make_batch()
    ids = (ids + 1).clamp(max=VOCAB - 1).masked_fill(~mask, PAD)
    expected = embed(ids, mask, positions)
    with torch.no_grad():
        embed.embedding.weight[PAD] = torch.nan
    assert torch.equal(embed(ids, mask, positions), expected)


def test_learned_positions_cover_source_and_target_length() -> None:
    config = make_config(positions="learned", decoder={"layers": 1, "positions": "learned"})
    model = SummarizationModel(config, VOCAB)
    source, target = model.encoder.embed.positions, model.decoder.embed.positions
    assert source is not None
    assert target is not None
    assert (source.num_embeddings, target.num_embeddings) == (30, 12)


def test_dropout_leaves_no_token_without_features() -> None:
    embed = make_config(dropout=0.875).build_embed(nn.Embedding(VOCAB, 16), "sinusoidal", 4000)
    ids, mask, positions = torch.randint(0, VOCAB, (1, 4000)), torch.ones(1, 4000, dtype=torch.bool), torch.arange(4000)
    whole = embed.eval()(ids, mask, positions[None])
    dropped = embed.train()(ids, mask, positions[None])
    is_whole = (dropped == whole).all(-1)
    assert is_whole.float().mean() == pytest.approx(0.875**16, abs=0.03)
    torch.testing.assert_close(dropped[~is_whole], torch.where(dropped == 0, 0, whole * 8)[~is_whole])
    assert dropped.any(-1).all()


class CallCounter(nn.Module):
    """Counts its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, states: Tensor, factor: float) -> Tensor:
        self.calls += 1
        return (states * factor).exp()


def test_checkpointed_layer_is_computed_again_for_the_backward_pass() -> None:
    layer = CallCounter()
    run_layer(layer, torch.ones(3, requires_grad=True), 2.0, checkpointed=False).sum().backward()
    assert layer.calls == 1
    states = torch.ones(3, requires_grad=True)
    run_layer(layer, states, 2.0, checkpointed=True).sum().backward()
    assert layer.calls == 3
    torch.testing.assert_close(states.grad, torch.full((3,), 2.0).exp() * 2)
    with torch.no_grad():
        run_layer(layer, torch.ones(3), 2.0, checkpointed=True)
    assert layer.calls == 4


def test_skipped_initialisation_draws_no_random_numbers() -> None:
    before = torch.random.get_rng_state()
    with SkipInit():
        linear, embedding = nn.Linear(3, 4), nn.Embedding(5, 4)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(embedding.weight, std=2.0)
        nn.GRU(3, 4)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [tuple(weights.shape) for weights in linear.parameters()] == [(4, 3), (4,)]
    assert all(weights.requires_grad for weights in linear.parameters())


def test_other_functions_run_while_initialisation_is_skipped() -> None:
    with SkipInit():
        assert torch.arange(3).tolist() == [0, 1, 2]
        assert torch.zeros(2).add_(1).tolist() == [1, 1]
    assert nn.Linear(3, 4).weight.abs().max() > 0


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_number_of_threads_is_restored() -> None:
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError, match="stop"), one_thread():
        raise ValueError("stop")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_number_of_threads_stays_where_not_enabled() -> None:
    with one_thread(enabled=False):
        assert torch.get_num_threads() == 2
