from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.model.compiled_layers import CompiledLayers
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.kv_cache import CompactingCache
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.nn.kernels import load_kernels
from sumpool.core.nn.quantization import quantize
from tests.core.batches import mask_of

pytestmark = pytest.mark.skipif(load_kernels() is None, reason="needs compiled kernels and AVX512-VNNI")

VOCAB, BEAMS = 60, 5


def build(**settings: object) -> SummarizationModel:
    """A model in int8 with layers of 2 heads."""
    torch.manual_seed(1)
    plain = {
        "dim": 64,
        "heads": 2,
        "feed_forward": 112,
        "encoder": [{"attention": {"kind": "blockwise", "block": 16}}],
        "decoder": {"layers": 2},
        "output": {"kind": "tied"},
    }
    model = SummarizationModel(ModelConfig.model_validate(plain | settings), VOCAB).eval()
    for parameter in model.parameters():  # norms and biases too
        torch.nn.init.normal_(parameter, mean=float(parameter.dim() == 1), std=0.3)
    quantize(model, "int8")
    return model


def start(model: SummarizationModel, *lengths: int, independent: bool) -> DecoderState:
    """State of a search in random documents of these lengths, each the same alone."""
    mask = mask_of(*lengths)
    ids = torch.randint(5, VOCAB, mask.shape, generator=torch.Generator().manual_seed(3)).masked_fill(~mask, 0)
    return model.start(model.encode(ids, mask, torch.zeros_like(ids)), BEAMS, independent=independent)


def inputs(model: SummarizationModel, state: DecoderState, steps: int) -> Iterator[tuple[Tensor, DecoderState]]:
    """States of the newest tokens with the cache of a search that continues at random beams."""
    generator = torch.Generator().manual_seed(7)
    documents = len(state.previous_token)
    for _ in range(steps):
        cache = state.self_cache.advance()
        yield torch.randn(documents, BEAMS, model.config.dim, generator=generator), state
        tokens = torch.randint(5, VOCAB, (documents * BEAMS,), generator=generator)
        _, state = model.step(tokens, state)
        rows = torch.randint(BEAMS, (documents, BEAMS), generator=generator)
        if cache.ancestry_bias.size(1) > 1:
            state = state.reorder((rows + BEAMS * torch.arange(documents)[:, None]).flatten())


@torch.inference_mode()
@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "post", "activation": "gelu", "dim": 192},
        {"activation": "silu", "dim": 128, "decoder": {"layers": 1, "cross_attention": {"kind": "hepos", "stride": 2}}},
    ],
)
def test_a_step_equals_that_of_the_layers(settings: dict[str, object], independent: bool) -> None:
    model = build(**settings)
    layers = model.decoder._layers()
    compiled = CompiledLayers.find(model.config, layers)
    assert compiled is not None
    errors = []
    for states, state in inputs(model, start(model, 40, 25, 1, independent=independent), 40):
        expected, cache = states, state.map_tensors(torch.clone).self_cache.advance()
        for index, (layer, cross_cache) in enumerate(zip(layers, state.cross_cache, strict=True)):
            expected = layer.step(expected, cache, index, cross_cache)
        cache = state.map_tensors(torch.clone).self_cache.advance()
        assert isinstance(cache, CompactingCache)
        actual = compiled.step(states, cache, state.cross_cache)
        assert actual is not None
        errors.append((actual - expected).norm(dim=-1) / expected.norm(dim=-1))
    # Where the rounding of a norm moves a number to another of the 255 that int8 layers read, a row differs more.
    relative = torch.stack(errors)
    assert relative.max() < 0.05
    assert (relative < 1e-5).float().mean() > 0.95


def alone(state: DecoderState, document: int, length: int) -> DecoderState:
    """State of one document of a batch, without the padding of its memory."""
    state = state.select(torch.tensor([document]))
    layers = [
        {"key": layer["key"][:, :, :length].clone(), "value": layer["value"][:, :, :length].clone()}
        | {"bias": layer["bias"][..., :length].clone()}
        for layer in state.cross_cache
    ]
    return replace(state, cross_cache=layers)


@torch.inference_mode()
@pytest.mark.parametrize("independent", [True, False])
def test_neither_batch_mates_nor_padding_change_a_bit(independent: bool) -> None:
    model, lengths = build(), (40, 25, 1)
    together = start(model, *lengths, independent=independent)
    singles = [alone(together, document, length) for document, length in enumerate(lengths)]
    for newest in torch.randint(5, VOCAB, (40, 3, BEAMS)):
        log_probs, together = model.step(newest.flatten(), together)
        for document in range(3):
            expected, singles[document] = model.step(newest[document], singles[document])
            assert torch.equal(log_probs.view(3, BEAMS, -1)[document], expected)


@torch.inference_mode()
def test_a_nan_stays_in_its_row() -> None:
    model = build()
    state = start(model, 40, 25, independent=True)
    compiled = CompiledLayers.find(model.config, model.decoder._layers())
    assert compiled is not None
    states = torch.randn(2, BEAMS, 64)
    states[1, 2, 5] = torch.nan
    cache = state.self_cache.advance()
    assert isinstance(cache, CompactingCache)
    stepped = compiled.step(states, cache, state.cross_cache)
    assert stepped is not None
    assert stepped.isnan().all(-1).flatten().nonzero().flatten().tolist() == [BEAMS + 2]
    assert stepped.isnan().any(-1).sum() == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"heads": 4},
        {"feed_forward": 120},
        {"decoder": {"layers": 1, "cross_attention": {"kind": "sentence"}}},
    ],
)
def test_layers_of_other_shapes_are_left_to_torch(settings: dict[str, object]) -> None:
    model = build(**settings)
    assert CompiledLayers.find(model.config, model.decoder._layers()) is None
    log_probs, _ = model.step(torch.full((2 * BEAMS,), 7), start(model, 20, 9, independent=False))
    assert log_probs.isfinite().all()


def test_layers_are_found_once_and_not_before_they_are_quantized() -> None:
    model = build()
    layers = model.decoder._layers()
    assert CompiledLayers.find(model.config, layers) is CompiledLayers.find(model.config, layers)
    plain = SummarizationModel(model.config, VOCAB).eval()
    assert CompiledLayers.find(plain.config, plain.decoder._layers()) is None
    quantize(plain, "int8")
    found = CompiledLayers.find(plain.config, plain.decoder._layers())
    assert found is not None
    assert found is not CompiledLayers.find(model.config, layers)


def test_steps_with_gradients_are_left_to_torch() -> None:
    model = build()
    state = start(model, 20, independent=False)
    compiled = CompiledLayers.find(model.config, model.decoder._layers())
    assert compiled is not None
    cache = state.self_cache.advance()
    assert isinstance(cache, CompactingCache)
    assert compiled.step(torch.randn(1, BEAMS, 64), cache, state.cross_cache) is None
