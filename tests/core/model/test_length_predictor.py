from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import LengthPredictor
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.nn.positions import sinusoid
from sumpool.core.nn.quantization import Precision, has_int8, quantize
from sumpool.special_tokens import BOS, EOS, PAD

INT8 = pytest.mark.skipif(not has_int8(), reason="needs fbgemm")
VOCAB = 40
LENGTHS = (50, 17)


def make_model() -> SummarizationModel:
    torch.manual_seed(1)
    settings = {
        "dim": 16,
        "heads": 2,
        "feed_forward": 32,
        "dropout": 0.0,
        "source_length": 64,
        "encoder": [{"attention": {"kind": "blockwise", "block": 16}}],
        "decoder": {"layers": 1, "predict_length": True},
    }
    return SummarizationModel(ModelConfig.model_validate(settings), VOCAB).eval()


def encode(model: SummarizationModel, lengths: Sequence[int] = LENGTHS) -> Memory:
    """Encode documents of these lengths, each independent of the others."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    drawn = torch.stack([torch.randint(5, VOCAB, (64,), generator=torch.Generator().manual_seed(n)) for n in lengths])
    ids = drawn[:, : max(lengths)].masked_fill(~mask, PAD)
    return model.encode(ids, mask, torch.zeros_like(ids))


def targets(*lengths: int) -> Tensor:
    """References of so many tokens, their ends counted."""
    rows = [F.pad(torch.full((length - 1,), 7), (0, 1), value=EOS) for length in lengths]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def test_remaining_tokens_are_counted_down_to_zero() -> None:
    predictor = LengthPredictor(8, PAD)
    embedded = predictor.embed_remaining(torch.tensor([3.2, 1.0]), torch.arange(5).expand(2, 5), torch.float32)
    expected = predictor.remaining(sinusoid(torch.tensor([[3, 2, 1, 0, 0], [1, 0, 0, 0, 0]]), 8))
    torch.testing.assert_close(embedded, expected)


def test_the_loss_is_minimal_at_the_median() -> None:
    predictor, target = LengthPredictor(8, PAD), targets(10, 12, 100)
    losses = {
        length: float(predictor.loss(torch.tensor(float(length)).log().expand(3), target)) for length in range(5, 120)
    }
    assert min(losses, key=losses.__getitem__) == 12


@torch.no_grad()
def test_training_uses_reference_lengths_with_noise() -> None:
    torch.manual_seed(0)
    noisy = LengthPredictor(8, PAD).jitter(targets(50).expand(4000, -1))
    assert float(noisy.log().mean().exp()) == pytest.approx(50, rel=0.02)
    assert float(noisy.log().std()) == pytest.approx(0.1, rel=0.1)


@torch.no_grad()
def test_padding_and_batch_mates_do_not_change_predicted_lengths() -> None:
    model = make_model()
    together = model.predict_lengths(encode(model))
    alone = [model.predict_lengths(encode(model, [length])) for length in LENGTHS]
    torch.testing.assert_close(together, torch.cat([lengths for lengths in alone if lengths is not None]))


@torch.no_grad()
def test_scores_and_search_use_the_same_predicted_lengths() -> None:
    model, target = make_model(), targets(9, 5)
    memory = encode(model)
    scores = model.score(memory, target)
    state, last = model.start(memory, 1), torch.full((2,), BOS)
    for position in range(9):
        log_probs, state = model.step(last, state)
        last = target[:, position]
        real = last != PAD
        token_log_probs = log_probs.gather(1, last[:, None])[:, 0]
        torch.testing.assert_close(token_log_probs[real], scores.log_prob[real, position])


@torch.no_grad()
@pytest.mark.parametrize("precision", ["fp32", "bf16", pytest.param("int8", marks=INT8)])
def test_a_quantized_model_predicts_similar_lengths(precision: Precision) -> None:
    model = make_model()
    expected = model.predict_lengths(encode(model))
    quantize(model, precision)
    memory = encode(model)
    predicted = model.predict_lengths(memory)
    assert expected is not None
    assert predicted is not None
    torch.testing.assert_close(predicted.float(), expected, rtol=0.05, atol=0)
    log_probs, _ = model.step(torch.full((4,), BOS), model.start(memory, 2))
    assert log_probs.isfinite().all()
