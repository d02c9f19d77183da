from pathlib import Path

import pytest
import torch

from sumpool.core.attention._base import Attention, SoftmaxAttention
from sumpool.core.nn.layers import split_heads
from sumpool.core.tokens import Tokens
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.settings import kinds
from sumpool.studies.attention_map import attention_map, draw_attention_map
from sumpool.studies.attentions import attention_config

TEXT = "The server sends a packet to the router. The router drops it. " * 5


def test_every_layer_and_head_is_drawn(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "doc.txt").write_text(TEXT)
    maps = draw_attention_map(run_folder, str(tmp_path / "doc.txt"), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"
    for weights in maps:
        assert weights.size(1) == weights.size(2) > 8
        assert float((weights.sum(-1) - 1).abs().max()) < 1e-4


def test_what_cannot_be_drawn_is_a_sentence(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"--plot must name a \.png file, got map\.jpg"):
        draw_attention_map(run_folder, "doc.txt", Path("map.jpg"))
    with pytest.raises(DataError, match="nowhere"):
        draw_attention_map(run_folder, str(tmp_path / "nowhere.txt"), tmp_path / "map.png")
    monkeypatch.setattr("sumpool.studies.plots.find_spec", lambda _: None)
    with pytest.raises(RecipeError, match="--plot must have matplotlib, which is not installed"):
        draw_attention_map(run_folder, "doc.txt", tmp_path / "map.png")


LENGTH, DIM, HEADS = 21, 16, 4
POSITIONS = torch.arange(LENGTH)[None]


def build(kind: str) -> tuple[Attention, torch.Tensor]:
    torch.manual_seed(1)
    attention: Attention = attention_config(kind, LENGTH, HEADS).build(DIM, HEADS).double().eval()
    return attention, torch.randn(1, LENGTH, DIM, dtype=torch.float64)


@pytest.mark.parametrize("kind", kinds("sumpool.core.attention"))
def test_weights_give_the_output(kind: str) -> None:
    attention, states = build(kind)
    try:
        weights = attention_map(attention, states, POSITIONS)
    except CheckpointError as error:
        assert "must mix the values of tokens" in str(error)  # noqa: PT017
        assert kind in ("skeinformer", "lsh", "v_mean", "synthesizer", "convolutional", "global_tokens")
        return
    assert weights.shape == (HEADS, LENGTH, LENGTH)
    value = split_heads(attention.project(states).chunk(3, dim=-1)[2], HEADS)[0]
    output = attention.out((weights @ value).transpose(0, 1).flatten(1))[None]
    torch.testing.assert_close(output, attention(Tokens.of_states(states, positions=POSITIONS)), rtol=1e-6, atol=1e-8)
    if isinstance(attention, SoftmaxAttention):
        received = attention.attention_received(Tokens.of_states(states, positions=POSITIONS), True)
        torch.testing.assert_close(weights.mean(0).sum(0)[None], received.double(), rtol=1e-4, atol=1e-5)
    if kind not in ("kernelized", "linformer", "nystrom", "routing", "skyformer"):
        torch.testing.assert_close(weights.sum(-1), torch.ones(HEADS, LENGTH, dtype=torch.float64), rtol=1e-5, atol=0)


def test_an_attention_without_such_weights_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"ConvolutionalAttention must mix the values .* another attention"):
        attention_map(*build("convolutional"), POSITIONS)
