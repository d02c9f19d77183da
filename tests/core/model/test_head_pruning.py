import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.head_pruning import attentions, choose_heads, fixed_attentions, prune, pruned_config
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.training.weights import set_weights, weights_of

NAMES = ["encoder.layers.0.attention", "encoder.layers.1.attention"] + [
    f"decoder.layers.{layer}.{part}" for layer in range(2) for part in ("attention", "cross_attention")
]


def build(cross_attention: str = "full", pool: dict[str, object] | None = None) -> SummarizationModel:
    encoder = [{"attention": {"kind": "blockwise", "block": 8, "positions": "relative"}, "pool": pool}]
    encoder.append({"attention": {"kind": "lsh", "bucket": 4, "local_heads": 2}, "pool": None})
    settings = {
        "dim": 16,
        "heads": 4,
        "feed_forward": 16,
        "source_length": 40,
        "target_length": 12,
        "encoder": encoder,
        "decoder": {"layers": 2, "cross_attention": {"kind": cross_attention}},
    }
    torch.manual_seed(1)
    return SummarizationModel(ModelConfig.model_validate(settings), 30).double().eval()


def documents() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    mask = torch.arange(30) < torch.tensor([30, 17, 1])[:, None]
    ids = torch.randint(4, 30, (3, 30)).masked_fill(~mask, 0)
    return ids, mask, torch.arange(30).expand(3, -1) // 6, torch.randint(4, 30, (3, 9))


def importance(*values: list[float]) -> dict[str, Tensor]:
    return {name: torch.tensor(row) for name, row in zip("abc", values, strict=False)}


def test_attentions_are_those_of_encoder_and_decoder() -> None:
    assert list(attentions(build())) == NAMES


@pytest.mark.parametrize("cross_attention", ["full", "hepos"])
def test_a_pruned_model_equals_one_whose_heads_are_silent(cross_attention: str) -> None:
    model = build(cross_attention, {"kind": "halving", "keep": 8})
    inputs = documents()
    kept = dict(zip(NAMES, ([0, 2], [1, 3], [3], [0, 1, 2, 3], [0, 1], [1, 2, 3]), strict=True))
    hooks = []
    for name, attention in attentions(model).items():
        gate = torch.zeros(4, dtype=torch.float64).index_fill(0, torch.tensor(kept[name]), 1.0)
        hooks.append(
            attention.out.register_forward_pre_hook(
                lambda _, args, gate=gate: (args[0].unflatten(-1, (4, -1)) * gate[:, None]).flatten(-2)
            )
        )
    expected = model(*inputs)[0].log_prob
    for hook in hooks:
        hook.remove()
    whole = model(*inputs)[0].log_prob
    prune(model, kept)
    pruned = model(*inputs)[0].log_prob
    torch.testing.assert_close(pruned, expected, atol=1e-10, rtol=0)
    assert (pruned - whole).abs().max() > 1e-3
    # The settings build the same model, whose step equals teacher forcing.
    config = pruned_config(model.config, model)
    again = SummarizationModel(ModelConfig.model_validate(config.model_dump()), 30).double().eval()
    set_weights(again, weights_of(model), "pruned")
    torch.testing.assert_close(again(*inputs)[0].log_prob, expected, atol=1e-10, rtol=0)
    target = inputs[3]
    state, last, steps = (
        again.start(again.encode(*inputs[:3]), 1),
        torch.full((3,), again.special_tokens.decoder_start),
        [],
    )
    for position in range(target.size(1)):
        log_probs, state = again.step(last, state)
        last = target[:, position]
        steps.append(log_probs.gather(1, last[:, None]))
    torch.testing.assert_close(torch.cat(steps, 1), expected, atol=1e-8, rtol=0)


def test_settings_of_an_unpruned_model_stay() -> None:
    model = build()
    assert pruned_config(model.config, model) == model.config


def test_settings_name_all_layers_of_a_pruned_decoder() -> None:
    model = build()
    prune(model, {NAMES[1]: [2, 3], NAMES[4]: [1]})
    prune(model, {NAMES[1]: [1]})
    config = pruned_config(model.config, model)
    assert [layer.kept_heads for layer in config.encoder] == [None, (3,)]
    assert config.decoder.kept_heads == ((0, 1, 2, 3), (1,))
    assert config.decoder.kept_cross_heads is None


def test_the_least_important_heads_go() -> None:
    values = importance([0.9, 0.1, 0.2, 0.8], [0.3, 0.05, 0.7, 0.6])
    assert choose_heads(values, 0.25, {}) == {"a": [0, 2, 3], "b": [0, 2, 3]}
    assert choose_heads(values, 0.5, {}) == {"a": [0, 3], "b": [2, 3]}
    assert choose_heads(values, 0.75, {}) == {"a": [0], "b": [2]}


def test_fixed_attentions_keep_all_heads() -> None:
    values = importance([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8])
    assert choose_heads(values, 0.25, {"a": "reason"}) == {"a": [0, 1, 2, 3], "b": [2, 3]}


@pytest.mark.parametrize(
    ("share", "fixed", "message"),
    [
        (0.01, {}, "remove 1 to 6 of 8 heads, as every attention keeps one, got 0.01, which are 0"),
        (0.9, {}, "remove 1 to 6 of 8 heads, as every attention keeps one, got 0.9, which are 7"),
        (0.5, {"a": ""}, "remove 1 to 3 of 8 heads, as every attention keeps one and 1 keep all, got 0.5, which are 4"),
    ],
)
def test_shares_that_cannot_be_removed(share: float, fixed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_heads(importance([1, 2, 3, 4], [5, 6, 7, 8]), share, fixed)


def test_heads_that_others_depend_on_are_fixed() -> None:
    model = build("sentence", {"kind": "hard", "keep": 8, "scorer": {"kind": "attention_mass"}})
    fixed = fixed_attentions(model, model.config)
    assert fixed == {
        NAMES[0]: "the pooling after it scores by the weights of all heads",
        NAMES[3]: "its heads depend on each other",
        NAMES[5]: "its heads depend on each other",
    }
    with pytest.raises(ValueError, match="SentenceCrossAttention must keep all heads"):
        prune(model, {NAMES[3]: [0]})
