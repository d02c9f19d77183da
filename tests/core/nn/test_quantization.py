import gc
import os
import sys
import weakref
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn import quantization
from sumpool.core.nn.kernels import load_kernels
from sumpool.core.nn.layers import TiedProjection
from sumpool.core.nn.quantization import (
    Int8Linear,
    PackedLinear,
    Precision,
    SmallLinear,
    UnquantizedLinear,
    has_int8,
    has_packed_bf16,
    quantize,
)
from sumpool.recipe.load import load_recipe
from sumpool.special_tokens import BOS
from tests.core.batches import mask_of

VARIANTS = Path(__file__).parents[3] / "recipes" / "variants"
FAST = ["attention/blockwise", "cross_attention/sentence", "output/pointer", "pooling/halving"]
OTHERS = sorted({str(path.relative_to(VARIANTS).with_suffix("")) for path in VARIANTS.rglob("*.yaml")} - set(FAST))
SMALL = ["model.dim=32", "model.heads=4", "model.feed_forward=48", "model.decoder.layers=2"]
VOCAB = 300
NEEDS_INT8 = pytest.mark.skipif(not has_int8(), reason="needs fbgemm")
NEEDS_BF16 = pytest.mark.skipif(not has_packed_bf16(), reason="needs oneDNN with bf16")
NEEDS_KERNELS = pytest.mark.skipif(load_kernels() is None, reason="needs compiled kernels and AVX512-VNNI")
LAYERS = [PackedLinear, pytest.param(Int8Linear, marks=NEEDS_INT8)]
PRECISIONS: list[Precision] = ["fp32", "bf16", *(["int8"] if has_int8() else [])]  # type: ignore[list-item]
SIZES = [(100, 37), (64, 64), (33, 200)]


def make_linear(inputs: int, outputs: int) -> nn.Linear:
    plain = nn.Linear(inputs, outputs).requires_grad_(False)
    plain.weight *= torch.rand(outputs, 1) * 5
    return plain


def multiply_integers(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Expected result of int8 layers: integer products, then float64."""
    first, second = weight[:, ::2], nn.functional.pad(weight[:, 1::2], (0, weight.size(1) % 2))
    together = torch.where(first * second > 0, first + second, torch.where(first.abs() > second.abs(), first, second))
    scale, largest = together.abs().amax(1) / 127, rows.abs().amax(1)[:, None]
    products = (rows / largest * 127).round().double() @ (weight / scale[:, None]).round().double().T
    return products * scale * largest / 127 + bias


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_prepacked_layers_equal_plain_ones(inputs: int, outputs: int) -> None:
    plain, rows = make_linear(inputs, outputs), torch.randn(17, inputs)
    mapped = PackedLinear(plain.weight, plain.bias)(rows)
    torch.testing.assert_close(mapped, plain(rows), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(PackedLinear(plain.weight)(rows), rows @ plain.weight.T, atol=1e-5, rtol=1e-5)


@NEEDS_INT8
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_int8_multiplies_integers(inputs: int, outputs: int) -> None:
    plain, rows = make_linear(inputs, outputs), torch.randn(17, inputs) * torch.rand(17, 1) * 9
    mapped = Int8Linear(plain.weight, plain.bias)(rows)
    exact = multiply_integers(rows, plain.weight, plain.bias).float()
    # ties may round differently
    assert ((mapped - exact).abs() > 1e-4 * exact.abs().amax(1, keepdim=True)).float().mean() < 0.2
    for expected in (exact, plain(rows)):
        assert (mapped - expected).norm() < 0.02 * expected.norm()


@NEEDS_INT8
@pytest.mark.parametrize("is_compiled", [True, False])
def test_the_largest_integers_do_not_overflow(is_compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_compiled:
        monkeypatch.setattr(quantization, "load_kernels", lambda: None)
    weight = torch.randn(300, 999)
    weight[:5] = weight[:5].sign()
    weight[5:10] = weight[5:10].abs()
    # rows of the largest integers with the sign of each output's weights, and against it
    rows = torch.cat([weight.sign(), -weight.sign(), torch.ones(1, 999), -torch.ones(1, 999)])
    exact = multiply_integers(rows, weight, torch.zeros(300)).float()
    torch.testing.assert_close(Int8Linear(weight)(rows), exact, atol=1e-3, rtol=1e-5)


@NEEDS_INT8
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_int8_rows_are_bitwise_independent_of_their_batch(inputs: int, outputs: int) -> None:
    plain = make_linear(inputs, outputs)
    small, rows = Int8Linear(plain.weight, plain.bias), torch.randn(71, inputs) * torch.rand(71, 1)
    alone = torch.cat([small(row[None]) for row in rows])
    assert torch.equal(small(rows), alone)
    assert torch.equal(small(rows.flip(0)), alone.flip(0))
    assert torch.equal(small(rows[:70].view(7, 10, inputs)).flatten(0, 1), alone[:70])
    assert torch.equal(small(torch.cat([torch.full((903, inputs), torch.nan), rows * 1e9, rows]))[-71:], alone)


@NEEDS_INT8
@NEEDS_KERNELS
@pytest.mark.parametrize(("inputs", "outputs"), [*SIZES, (512, 3_000), (7, 1)])
def test_compiled_layers_have_the_bits_of_torch(inputs: int, outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make_linear(inputs, outputs)
    rows = torch.randn(700, inputs) * torch.rand(700, 1) * 9
    rows[5], rows[7, 0], rows[8] = 0, torch.nan, 1e-42
    compiled = [Int8Linear(plain.weight, bias) for bias in (plain.bias, None)]
    monkeypatch.setattr(quantization, "load_kernels", lambda: None)
    for layer, bias in zip(compiled, (plain.bias, None), strict=True):
        of_torch = Int8Linear(plain.weight, bias)
        for count in (*range(8), 193, 700):
            torch.testing.assert_close(layer(rows[:count]), of_torch(rows[:count]), atol=0, rtol=0, equal_nan=True)
        assert torch.equal(layer(rows[9:].T.contiguous().T), layer(rows[9:]))


@NEEDS_KERNELS
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 1), (32, 17), (256, 128)])
def test_small_layers_equal_plain_ones(inputs: int, outputs: int) -> None:
    plain, rows, kernels = make_linear(inputs, outputs), torch.randn(71, inputs), load_kernels()
    assert kernels is not None
    mapped = SmallLinear(kernels, plain.weight, plain.bias)(rows)
    torch.testing.assert_close(mapped, plain(rows), atol=1e-5, rtol=1e-5)
    without_bias = SmallLinear(kernels, plain.weight)
    torch.testing.assert_close(without_bias(rows), rows @ plain.weight.T, atol=1e-5, rtol=1e-5)
    alone = torch.cat([without_bias(row[None]) for row in rows])
    assert torch.equal(without_bias(rows), alone)
    assert torch.equal(without_bias(rows.T.contiguous().T[:70].view(7, 10, inputs)).flatten(0, 1), alone[:70])
    assert torch.equal(SmallLinear(kernels, plain.weight, plain.bias)(rows[:0]), plain(rows[:0]))


@pytest.mark.parametrize("kind", LAYERS)
def test_any_number_of_zero_rows_gives_the_bias(kind: type[PackedLinear | Int8Linear]) -> None:
    plain = make_linear(24, 20)
    mapped = kind(plain.weight, plain.bias)
    assert (mapped.in_features, mapped.out_features) == (24, 20)
    for shape in ((0,), (1,), (2, 0), (2, 5), (2, 3, 4)):
        assert torch.equal(mapped(torch.zeros(*shape, 24)), plain.bias.expand(*shape, 20))
    assert torch.equal(kind(torch.zeros(20, 24))(torch.ones(3, 24)), torch.zeros(3, 20))


class Model(nn.Module):
    """One layer of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.encoder = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32))
        self.decoder = nn.ModuleList([nn.Linear(32, 48), nn.Linear(32, 1), UnquantizedLinear(32, 64)])
        self.output = nn.Sequential(nn.Linear(32, 32), TiedProjection(self.embedding))
        self.eval().requires_grad_(False)

    def forward(self, rows: Tensor) -> Tensor:
        rows = self.encoder(rows)
        return torch.cat([self.output(rows), *(part(rows) for part in self.decoder)], dim=-1)


@pytest.mark.parametrize(
    ("precision", "encoder"),
    [
        ("fp32", None),
        ("bf16", None),
        pytest.param("int8", None, marks=NEEDS_INT8),
        pytest.param("int8", "bf16", marks=[NEEDS_INT8, NEEDS_BF16]),
    ],
)
def test_layers_are_replaced_where_that_gains(precision: Precision, encoder: Precision | None) -> None:
    model, rows = Model(), torch.randn(5, 32)
    expected = model(rows)
    quantize(model, precision, encoder)
    actual = model(rows.to(model.embedding.weight.dtype))
    assert actual.dtype is model.embedding.weight.dtype
    assert (actual - expected).norm() < {"fp32": 1e-6, "bf16": 0.01, "int8": 0.02}[precision] * expected.norm()
    kinds = [type(part) for part in (model.encoder[0], *model.decoder, *model.output)]
    if precision == "fp32":
        assert kinds == [nn.Linear, PackedLinear, PackedLinear, UnquantizedLinear, PackedLinear, PackedLinear]
    elif precision == "int8":
        in_encoder = PackedLinear if encoder else Int8Linear
        in_pointer = PackedLinear if load_kernels() is None else SmallLinear
        assert kinds == [in_encoder, Int8Linear, PackedLinear, UnquantizedLinear, in_pointer, Int8Linear]
        assert not encoder or model.encoder[0].dtype == torch.bfloat16
    else:
        assert {weights.dtype for weights in model.parameters()} == {torch.bfloat16}
        packed = PackedLinear if has_packed_bf16() else nn.Linear
        assert kinds[:2] == [packed, packed]


@NEEDS_BF16
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_bf16_layers_round_weights_and_rows(inputs: int, outputs: int) -> None:
    plain, rows = make_linear(inputs, outputs), torch.randn(17, inputs)
    weight, bias = plain.weight.bfloat16(), plain.bias.bfloat16()
    expected = (rows.bfloat16().double() @ weight.double().T + bias).float()
    mapped = PackedLinear(weight, bias)(rows)
    assert mapped.dtype == torch.float32
    assert (mapped - expected).norm() < 0.005 * expected.norm()
    packed = PackedLinear(weight, bias)(rows.bfloat16())
    assert packed.dtype == torch.bfloat16
    assert torch.equal(packed.float(), mapped)
    without_bias = (rows.bfloat16().double() @ weight.double().T).float()
    assert (PackedLinear(weight)(rows) - without_bias).norm() < 0.005 * without_bias.norm()


def test_replaced_weights_are_freed() -> None:
    model = Model()
    plain = weakref.ref(model.decoder[0].weight)
    quantize(model, "fp32")
    gc.collect()
    assert plain() is None


def test_other_mixtures_models_in_training_and_int8_without_support_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mixtures: list[tuple[Precision, Precision]] = [("fp32", "bf16"), ("bf16", "int8"), ("int8", "fp32")]
    for precision, encoder in mixtures:
        with pytest.raises(ValueError, match=f"must be {precision}, or bf16 beside int8, got {encoder}"):
            quantize(Model(), precision, encoder)
    with pytest.raises(ValueError, match=r"in evaluation mode to be quantized, got training mode; call eval\(\)"):
        quantize(Model().train(), "fp32")
    monkeypatch.setattr(quantization, "has_int8", lambda: False)
    with pytest.raises(ValueError, match="must be fp32 or bf16 on a GPU, or where torch comes without fbgemm, got int"):
        quantize(Model(), "int8")


def second_step_log_probs(model: SummarizationModel) -> Tensor:
    """Log-probabilities of the second tokens of two beams for each of four documents, one of them empty."""
    mask = mask_of(200, 41, 0, 7)
    ids = torch.randint(5, VOCAB, mask.shape, generator=torch.Generator().manual_seed(3)).masked_fill(~mask, 0)
    memory = model.encode(ids, mask, torch.arange(200).expand(mask.shape) // 20)
    _, state = model.step(torch.full((8,), BOS), model.start(memory, 2))
    log_probs, _ = model.step(torch.arange(5, 13), state)
    return log_probs


@torch.inference_mode()
@pytest.mark.parametrize(
    ("variants", "precisions"),
    [(FAST, PRECISIONS), pytest.param(OTHERS, PRECISIONS[-1:], marks=pytest.mark.slow)],
    ids=["fast", "others"],
)
def test_every_variant_can_be_quantized(variants: list[str], precisions: list[Precision]) -> None:
    for variant in variants:
        config = load_recipe(VARIANTS / f"{variant}.yaml", SMALL).model
        torch.manual_seed(5)
        plain = SummarizationModel(config, VOCAB).eval().requires_grad_(False)
        expected = second_step_log_probs(plain)
        for precision in precisions:
            torch.manual_seed(5)
            model = SummarizationModel(config, VOCAB).eval().requires_grad_(False)
            quantize(model, precision)
            actual = second_step_log_probs(model)
            assert actual.dtype == torch.float32
            divergence = (expected.exp() * (expected - actual)).sum(-1).max()  # in nats
            assert divergence < (1e-5 if precision == "fp32" else 0.1), (variant, precision)


@pytest.mark.skipif(sys.platform != "linux" or not has_packed_bf16(), reason="needs /proc, and bf16")
def test_memory_does_not_grow_with_the_numbers_of_rows() -> None:
    layer = PackedLinear(torch.randn(256, 256).bfloat16())

    def multiply(first: int, last: int) -> int:
        with torch.inference_mode():
            for rows in range(first, last):
                layer(torch.zeros(rows, 256))
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = multiply(10, 100)
    assert multiply(100, 400) - before < 60 * 2**20
