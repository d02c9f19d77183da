import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.positions import sinusoid
from sumpool.special_tokens import PAD

VOCAB = 20


def make_config(**settings: object) -> ModelConfig:
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "dropout": 0.0, "source_length": 30, "target_length": 12}
    layer = {"attention": {"kind": "vanilla"}}
    return ModelConfig.model_validate({**sizes, "encoder": [layer], "decoder": {"layers": 1}, **settings})


def make_embed(config: ModelConfig) -> Embed:
    return Embed(nn.Embedding(VOCAB, 16), config, config.positions, config.source_length).double()


def make_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and places; the first document stands further behind."""
    places = torch.stack([torch.arange(3, 9), torch.arange(6)])
    return torch.randint(0, VOCAB, (2, 6)), torch.arange(6) < torch.tensor([[6], [4]]), places


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("normalised", [True, False])
def test_learned_positions_are_added_to_scaled_embeddings_before_they_are_normalised(
    scaled: bool, normalised: bool
) -> None:
    embed = make_embed(make_config(positions="learned", scale_embedding=scaled, embedding_norm=normalised))
    ids, mask, places = make_batch()
    assert embed.positions is not None
    expected = embed.embedding.weight[ids] * (4.0 if scaled else 1.0) + embed.positions.weight[places]
    if normalised:
        expected = (expected - expected.mean(-1, keepdim=True)) / (
            expected.var(-1, correction=0, keepdim=True) + 1e-5
        ).sqrt()
    torch.testing.assert_close(embed(ids, mask, places)[mask], expected[mask])


def test_places_that_are_not_learned_add_waves_or_nothing() -> None:
    ids, mask, places = make_batch()
    waves, nothing = (make_embed(make_config(positions=positions)) for positions in ("sinusoidal", "none"))
    waves.load_state_dict(nothing.state_dict())
    plain = nothing(ids, mask, places)
    torch.testing.assert_close(plain, 4 * nothing.embedding.weight[ids] * mask[..., None])
    torch.testing.assert_close(waves(ids, mask, places), plain + sinusoid(places, 16))


def test_what_stands_in_the_padding_is_never_read() -> None:
    embed = make_embed(make_config(positions="learned", embedding_norm=True))
    ids, mask, places = make_batch()
    ids = (ids + 1).clamp(max=VOCAB - 1).masked_fill(~mask, PAD)
    expected = embed(ids, mask, places)
    with torch.no_grad():
        embed.embedding.weight[PAD] = torch.nan
    assert torch.equal(embed(ids, mask, places), expected)


def test_each_side_learns_as_many_places_as_it_reads() -> None:
    config = make_config(positions="learned", decoder={"layers": 1, "positions": "learned"})
    model = SummarizationModel(config, VOCAB)
    source, target = model.encoder.embed.positions, model.decoder.embed.positions
    assert source is not None
    assert target is not None
    assert (source.num_embeddings, target.num_embeddings) == (30, 12)
