"""Feed-forward layers and residual connections."""

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import Dropout, Residual, SkipInit, one_thread, run_layer
from sumpool.core.nn.positions import AbsolutePositions, Embed, sinusoid
from tests.core.batches import mask_of
from tests.core.emulated_gpu import GpuTensor, emulated_gpu


def test_dropout_spares_the_residual() -> None:
    states = torch.ones(1, 1, 1000)
    added = Residual(1000, "pre", dropout=0.5).add(states, torch.ones_like(states))
    assert set(added.unique().tolist()) == {1.0, 3.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.937])
def test_elements_are_dropped_and_the_others_scaled(p: float, dtype: torch.dtype) -> None:
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
    kept = (Dropout(0.5)(torch.ones(10**6)) > 0).double() - 0.5
    for distance in (1, 2, 3, 4, 8, 1000):
        correlation = 4 * (kept[distance:] * kept[:-distance]).mean().item()
        assert abs(correlation) < 0.005


def test_draws_follow_the_seed() -> None:
    states, dropout = torch.ones(7, 9).t(), Dropout(0.3)
    torch.manual_seed(5)
    first = dropout(states)
    assert not torch.equal(first, dropout(states))
    torch.manual_seed(5)
    assert torch.equal(dropout(states), first)
    assert first.shape == states.shape


def test_limits_of_dropout() -> None:
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


def make_embed(positions: AbsolutePositions, dropout: float = 0.0) -> Embed:
    return Embed(nn.Embedding(20, 16), positions, 4000, scaled=True, normalised=False, dropout=dropout).double()


def test_sinusoidal_positions_are_added_and_none_add_nothing() -> None:
    ids, mask, positions = torch.randint(0, 20, (2, 6)), mask_of(6, 4), torch.stack([torch.arange(6)] * 2)
    positions[0] += 3
    sinusoidal, none = make_embed("sinusoidal"), make_embed("none")
    sinusoidal.load_state_dict(none.state_dict())
    plain = none(ids, mask, positions)
    torch.testing.assert_close(plain, 4 * none.embedding.weight[ids] * mask[..., None])
    torch.testing.assert_close(sinusoidal(ids, mask, positions), plain + sinusoid(positions, 16))


def test_settings_of_embeddings() -> None:
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 30, "target_length": 12}
    layers = {"encoder": [{"attention": {"kind": "vanilla"}}], "decoder": {"layers": 1, "positions": "learned"}}
    config = ModelConfig.model_validate({**sizes, **layers, "positions": "learned", "embedding_norm": True})
    model = SummarizationModel(config, 20)
    source, target = model.encoder.embed.positions, model.decoder.embed.positions
    assert source is not None
    assert target is not None
    assert (source.num_embeddings, target.num_embeddings) == (30, 12)
    assert isinstance(model.encoder.embed.norm, nn.LayerNorm)


def test_dropout_leaves_no_token_without_features() -> None:
    embed = make_embed("sinusoidal", dropout=0.875)
    batch = torch.randint(0, 20, (1, 4000)), mask_of(4000), torch.arange(4000)[None]
    whole, dropped = embed.eval()(*batch), embed.train()(*batch)
    is_whole = (dropped == whole).all(-1)
    assert is_whole.float().mean() == pytest.approx(0.875**16, abs=0.03)
    torch.testing.assert_close(dropped[~is_whole], torch.where(dropped == 0, 0, whole * 8)[~is_whole])
    assert dropped.any(-1).all()


def test_checkpointed_layer_is_computed_again_for_the_backward_pass() -> None:
    calls = []

    def layer(states: Tensor, factor: float) -> Tensor:
        calls.append(states)
        return (states * factor).exp()

    run_layer(layer, torch.ones(3, requires_grad=True), 2.0, checkpointed=False).sum().backward()
    assert len(calls) == 1
    states = torch.ones(3, requires_grad=True)
    run_layer(layer, states, 2.0, checkpointed=True).sum().backward()
    assert len(calls) == 3
    torch.testing.assert_close(states.grad, torch.full((3,), 2.0).exp() * 2)
    with torch.no_grad():
        run_layer(layer, torch.ones(3), 2.0, checkpointed=True)
    assert len(calls) == 4


def test_skipped_initialisation_draws_no_random_numbers() -> None:
    before = torch.random.get_rng_state()
    with SkipInit():
        linear, embedding = nn.Linear(3, 4), nn.Embedding(5, 4)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(embedding.weight, std=2.0)
        nn.GRU(3, 4)
        assert torch.zeros(2).add_(1).tolist() == [1, 1]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [tuple(weights.shape) for weights in linear.parameters()] == [(4, 3), (4,)]
    assert all(weights.requires_grad for weights in linear.parameters())
    assert nn.Linear(3, 4).weight.abs().max() > 0


def test_number_of_threads_is_one_within_the_context() -> None:
    torch.set_num_threads(2)  # which a fixture of all tests restores
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError, match="stop"), one_thread():
        raise ValueError("stop")
    assert torch.get_num_threads() == 2
    with one_thread(enabled=False):
        assert torch.get_num_threads() == 2
