import pytest
import torch
from torch import Tensor, nn

from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import Hourglass, as_tokens


def build(layers: list[int], *boundaries: dict[str, object], combine: str = "mean") -> Hourglass:
    torch.manual_seed(0)
    config = LanguageModelConfig.model_validate(
        {
            "dim": 8,
            "heads": 2,
            "feed_forward": 8,
            "layers": layers,
            "boundaries": boundaries,
            "combine": combine,
            "positions": "sinusoidal",
        }
    )
    separators = torch.arange(10) == 4
    return Hourglass(config, nn.Embedding(10, 8), separators).double().eval()


def naive(model: Hourglass, states: Tensor, ends: list[bool]) -> Tensor:
    """Shorten and restore one text (length, dim) with loops; the outer levels have no layers."""
    assert model.inner is not None
    segments: list[Tensor] = [model.null]
    members: list[Tensor] = []
    received, complete = [], 0
    for state, end in zip(states, ends, strict=True):
        members.append(state)
        if end:
            segments.append(torch.stack(members).mean(0) if model.combine == "mean" else members[-1])
            members, complete = [], complete + 1
        received.append(complete)
    output: Tensor = model.inner.before(model.norm(torch.stack(segments))[None], None, False)[0]
    return states + output[received]


@pytest.mark.parametrize(("middle", "combine"), [(0, "mean"), (2, "mean"), (2, "last")])
def test_segments_are_pooled_and_restored_as_by_loops(middle: int, combine: str) -> None:
    model = build([0, middle, 0], {"kind": "whitespace"}, combine=combine)
    ids = torch.tensor([[1, 2, 4, 3, 3, 4, 4, 5], [4, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]])
    mask = ids > 0
    states = torch.randn(3, 8, 8).double()
    output = model(as_tokens(states, ids, mask), None, False)
    for row, length in enumerate((8, 4, 2)):
        expected = naive(model, states[row, :length], (ids[row, :length] == 4).tolist())
        torch.testing.assert_close(output.states[row, :length], expected, atol=1e-12, rtol=0)
    assert output.metrics["shortening"].item() == pytest.approx(14 / 4)


def test_nested_segments_count_the_null_state_as_a_segment() -> None:
    model = build([0, 0, 1, 0, 0], {"kind": "fixed", "size": 2}, {"kind": "fixed", "size": 3})
    assert model.inner is not None
    states = torch.randn(1, 9, 8).double()
    ids = torch.ones(1, 9, dtype=torch.long)
    output = model(as_tokens(states, ids, ids > 0), None, False)
    shortened = torch.cat([model.null[None], states[0, :8].view(4, 2, 8).mean(1)])
    inner = naive(model.inner, model.norm(shortened), [False, False, True, False, False])
    expected = states[0] + inner[[0, 1, 1, 2, 2, 3, 3, 4, 4]]
    torch.testing.assert_close(output.states[0], expected, atol=1e-12, rtol=0)
    assert set(output.metrics) == {"shortening", "shortening_inside"}


def test_the_inner_layers_run_over_the_longest_number_of_segments() -> None:
    model = build([0, 1, 0], {"kind": "whitespace"})
    assert model.inner is not None
    lengths = []
    model.inner.before.layers[0].register_forward_pre_hook(lambda _, call: lengths.append(call[0].size(1)))
    ids = torch.tensor([[1, 4, 4, 1, 4, 1], [1, 1, 1, 1, 1, 4]])
    model(as_tokens(torch.randn(2, 6, 8).double(), ids, ids > 0), None, False)
    assert lengths == [1 + 3]
