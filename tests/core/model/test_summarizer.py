import re
from itertools import product

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import LengthPredictor
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import Dropout
from sumpool.core.nn.positions import sinusoid
from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from sumpool.special_tokens import BOS, PAD
from tests.core.batches import mask_of

VOCAB = 60
ENCODERS = {
    "blockwise": [{"attention": {"kind": "blockwise", "block": 16}}] * 2,
    "pooled": [
        {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 40}},
        {"attention": {"kind": "vanilla"}, "pool": {"kind": "halving", "keep": 13}},
    ],
}
CROSS_ATTENTIONS = {
    "full": {"kind": "full"},
    "hepos": {"kind": "hepos"},
    **{
        selection: {"kind": "sentence", "sentences": 2, "selection": {"kind": selection}}
        for selection in kinds("sumpool.core.selection")
    },
}
every_model = pytest.mark.parametrize(
    ("encoder", "cross_attention"), [("blockwise", "full"), *(("pooled", kind) for kind in CROSS_ATTENTIONS)]
)


def make_model(
    encoder: str = "pooled",
    norm: str = "pre",
    output: str = "pointer",
    cross_attention: str = "full",
    predict_length: bool = False,
) -> SummarizationModel:
    torch.manual_seed(1)
    cross = CROSS_ATTENTIONS[cross_attention]
    settings = {
        "dim": 32,
        "heads": 4,
        "feed_forward": 64,
        "norm": norm,
        "source_length": 2000,
        "encoder": ENCODERS[encoder],
        "decoder": {"layers": 2, "cross_attention": cross, "predict_length": predict_length},
        "output": {"kind": "pointer", "copies": "memory"} if output == "memory" else {"kind": output},
    }
    return SummarizationModel(ModelConfig.model_validate(settings), VOCAB).eval()


def make_documents(*lengths: int) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and sentence numbers of documents of these lengths."""
    mask = mask_of(*lengths)
    ids = torch.randint(5, VOCAB, mask.shape, generator=torch.Generator().manual_seed(3)).masked_fill(~mask, PAD)
    return ids, mask, torch.arange(max(lengths)).expand(mask.shape) // 7


def encode_alone(model: SummarizationModel, *lengths: int) -> list[Memory]:
    """Memories of the same documents, each in a batch of its own, without padding."""
    documents = make_documents(*lengths)
    return [model.encode(*(part[row : row + 1, :length] for part in documents)) for row, length in enumerate(lengths)]


def step_through(model: SummarizationModel, memory: Memory, target: Tensor) -> Tensor:
    """Log-probabilities of the tokens of a target (batch, target), step by step."""
    state, last = model.start(memory, 1), torch.full((len(target),), BOS)
    stepped = []
    for tokens in target.unbind(1):
        log_probs, state = model.step(last, state)
        stepped.append(log_probs.gather(1, tokens[:, None]))
        last = tokens
    return torch.cat(stepped, dim=1)


@torch.no_grad()
@pytest.mark.parametrize(("norm", "encoder"), [("pre", "pooled"), ("post", "blockwise")])
@pytest.mark.parametrize(
    ("output", "cross_attention", "predict_length"),
    [("tied", "full", False), ("pointer", "full", True), *(("pointer", kind, False) for kind in CROSS_ATTENTIONS)],
)
def test_steps_with_cache_equal_scoring_whole_summaries(
    norm: str, encoder: str, output: str, cross_attention: str, predict_length: bool
) -> None:
    model = make_model(encoder, norm, output, cross_attention, predict_length)
    memory = model.encode(*make_documents(70, 40, 9))
    target = torch.randint(5, VOCAB, (3, 20))
    expected = model.score(memory, target).log_prob
    torch.testing.assert_close(step_through(model, memory, target), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("cross_attention", "independent"),
    [
        ("full", False),
        ("full", True),
        *(pytest.param(kind, True, marks=pytest.mark.slow) for kind in kinds("sumpool.core.selection")),
    ],
)
def test_beams_are_independent_and_can_be_reordered(cross_attention: str, independent: bool) -> None:
    model = make_model(cross_attention=cross_attention).double()
    memory, singles = model.encode(*make_documents(70, 40)), encode_alone(model, 70, 40)
    words = torch.randint(5, VOCAB, (2, 3, 5))  # (batch, beams, steps)
    state, last = model.start(memory, 3, independent=independent), torch.full((6,), BOS)
    with torch.no_grad():
        for position in range(5):
            _, state = model.step(last, state)
            last = words[..., position].flatten()
        fewer = torch.tensor([2, 0, 4, 5])
        remaining, _ = model.step(last[fewer[2:]], state.reorder(fewer).select(torch.tensor([1])))
        order = torch.tensor([2, 0, 0, 4, 5, 3])
        reordered, _ = model.step(last[order], state.reorder(order))
        chosen, _ = model.step(last[3:], state.select(torch.tensor([1])))
        for row in range(6):
            document, beam = divmod(row, 3)
            alone, last_alone = model.start(singles[document], 1), torch.full((1,), BOS)
            for position in range(5):
                _, alone = model.step(last_alone, alone)
                last_alone = words[document, beam, position : position + 1]
            expected, _ = model.step(last_alone, alone)
            for position in (order == row).nonzero().flatten().tolist():
                torch.testing.assert_close(reordered[position], expected[0])
            if document == 1:
                torch.testing.assert_close(chosen[beam], expected[0])
            if row in (4, 5):
                torch.testing.assert_close(remaining[row - 4], expected[0])


@every_model
def test_nan_in_the_padding_changes_no_bit(encoder: str, cross_attention: str) -> None:
    model = make_model(encoder, cross_attention=cross_attention)
    ids, mask, sentences = make_documents(70, 40, 9)
    target = torch.randint(5, VOCAB, (3, 12)).masked_fill(torch.arange(12) > 7, PAD)

    def poison(module: torch.nn.Module, inputs: tuple[Tensor, ...], embedded: Tensor) -> Tensor:
        del module
        return embedded.masked_fill((inputs[0] == PAD)[..., None], torch.nan)

    def run() -> tuple[Memory, Tensor]:
        memory = model.encode(ids, mask, sentences)
        return memory, model.score(memory, target).log_prob

    with torch.no_grad():
        memory, scores = run()
        model.embedding.register_forward_hook(poison)
        poisoned, poisoned_scores = run()
    assert torch.equal(memory.tokens.states[memory.tokens.mask], poisoned.tokens.states[memory.tokens.mask])
    assert torch.equal(scores[target != PAD], poisoned_scores[target != PAD])


def test_random_ids_and_sentences_in_the_padding_change_no_bit() -> None:
    ids, mask, sentences = make_documents(70, 40, 9)
    target = torch.randint(5, VOCAB, (3, 12))
    found = []
    for padding in (torch.zeros_like(ids), torch.randint(5, VOCAB, ids.shape)):
        model = make_model()
        memory = model.encode(ids.where(mask, padding), mask, sentences.where(mask, padding))
        scores = model.score(memory, target)
        scores.nll.backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        found.append([memory.tokens.states[memory.tokens.mask], scores.log_prob, *gradients])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_every_parameter_gets_a_finite_gradient() -> None:
    for norm, output in product(("pre", "post"), ("tied", "pointer")):
        model = make_model(norm=norm, output=output).train()
        scores, losses, _ = model(*make_documents(70, 40, 9), torch.randint(5, VOCAB, (3, 12)))
        assert losses == {}
        scores.nll.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


def test_gradients_are_finite_where_dropout_leaves_little() -> None:
    for norm, dropout in product(("pre", "post"), (0.9, 0.99, 0.999)):
        model = make_model("blockwise", norm=norm, output="tied").train()
        for module in model.modules():
            if isinstance(module, Dropout):
                module.p = dropout
        scores, _, _ = model(*make_documents(1, 1, 1, 40), torch.randint(5, VOCAB, (4, 12)))
        scores.nll.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() < 1e6, name


@every_model
def test_checkpointed_activations_give_bitwise_equal_gradients(encoder: str, cross_attention: str) -> None:
    documents, target = make_documents(70, 40, 9), torch.randint(5, VOCAB, (3, 12))
    gradients = []
    for checkpoint in (False, True):
        model = make_model(encoder, cross_attention=cross_attention).train()
        model.checkpoint_activations(checkpoint)
        assert model.encoder.embed.dropout.p > 0
        torch.manual_seed(5)
        scores, losses, _ = model(*documents, target)
        torch.stack([scores.nll, *losses.values()]).sum().backward()
        gradients.append({name: part.grad for name, part in model.named_parameters() if part.grad is not None})
    torch.testing.assert_close(*gradients, atol=0, rtol=0)
    assert gradients[0]


def test_the_first_input_is_read_where_it_is_the_padding_token() -> None:
    """As in PEGASUS and Marian; training and search read the same, and padding elsewhere is not read."""
    model = make_model()
    memory = model.encode(*make_documents(20))
    cache = model.decoder.precompute(memory.tokens)
    inputs = torch.tensor([[PAD, 7, PAD]])
    with torch.no_grad():
        model.embedding.weight[PAD].normal_()
        states = model.decoder(inputs, cache).states
        stepped, _ = model.decoder.step(inputs[:, :1], model.start(memory, 1).self_cache, cache)
        torch.testing.assert_close(stepped[:, 0], states[:, 0])
        by_hand = model.decoder.embed(inputs, torch.tensor([[True, True, False]]), torch.arange(3)[None])
        for layer, layer_cache in zip(model.decoder.layers, cache, strict=True):
            by_hand = layer(by_hand, layer_cache, None).states
    torch.testing.assert_close(states, model.decoder.norm(by_hand))


def test_documents_beyond_source_length_are_refused() -> None:
    ids, mask, sentences = make_documents(2001)
    with pytest.raises(ValueError, match=re.escape("length must be at most source_length = 2000, got 2001")):
        make_model().encode(ids, mask, sentences)


@pytest.mark.parametrize(
    ("encoder", "output", "cross_attention"),
    [
        ("blockwise", "tied", "full"),
        ("blockwise", "pointer", "full"),
        ("pooled", "tied", "full"),
        ("pooled", "memory", "full"),
        *(("pooled", "pointer", kind) for kind in CROSS_ATTENTIONS),
    ],
)
def test_half_precision_trains_scores_and_generates(
    encoder: str, output: str, cross_attention: str, half_precision: torch.dtype
) -> None:
    model = make_model(encoder, output=output, cross_attention=cross_attention).train().to(half_precision)
    documents, target = make_documents(40, 9), torch.randint(5, VOCAB, (2, 6))
    scores, losses, _ = model(*documents, target, None, 0.1)
    assert all(loss.dtype is torch.float32 for loss in losses.values())
    torch.stack([scores.nll, *losses.values()]).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    with torch.inference_mode():
        memory = model.eval().encode(*documents)
        expected, stepped = model.score(memory, target).log_prob, step_through(model, memory, target)
    assert stepped.dtype is torch.float32
    torch.testing.assert_close(stepped.exp(), expected.exp(), atol=0.02, rtol=0)


@torch.no_grad()
def test_joined_memories_are_those_of_a_batch() -> None:
    model = make_model(output="memory", predict_length=True).double()
    batch, singles = model.encode(*make_documents(70, 40)), encode_alone(model, 70, 40)
    last = torch.full((6,), BOS)
    expected, _ = model.step(last, model.start(batch, 3))
    torch.testing.assert_close(model.step(last, model.start(Memory.join(singles), 3))[0], expected)
    lengths, *lengths_alone = (model.predict_lengths(memory) for memory in (batch, *singles))
    assert lengths is not None
    torch.testing.assert_close(lengths, torch.cat([part for part in lengths_alone if part is not None]))


def targets(*lengths: int) -> Tensor:
    """References of so many tokens."""
    return torch.full((len(lengths), max(lengths)), 7).masked_fill(~mask_of(*lengths), PAD)


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
def test_lengths_of_empty_documents_are_predicted() -> None:
    states = torch.randn(2, 3, 8)
    lengths = LengthPredictor(8, PAD)(Tokens.of_states(states, mask_of(3, 0)))
    assert lengths.isfinite().all()


@torch.no_grad()
def test_training_uses_reference_lengths_with_noise() -> None:
    torch.manual_seed(0)
    noisy = LengthPredictor(8, PAD).jitter(targets(50).expand(4000, -1))
    assert float(noisy.log().mean().exp()) == pytest.approx(50, rel=0.02)
    assert float(noisy.log().std()) == pytest.approx(0.1, rel=0.1)
