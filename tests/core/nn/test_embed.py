import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.positions import Embed, sinusoid
from sumpool.special_tokens import PAD

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
