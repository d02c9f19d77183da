import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.efficient import EfficientAttentionConfig
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.encoder import EncoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.output import Distribution, PointerOutputConfig, TiedOutputConfig
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.config import LAYER_LOSSES, TrainConfig
from sumpool.training.distillation import Teacher, token_divergence
from sumpool.training.update import Updater, halve
from tests.training.toy import CONFIG, DATA, MODEL, VOCABULARY, new_model

CPU = torch.device("cpu")


def distribution(log_probs: Tensor) -> Distribution:
    return lambda part: log_probs[:, part]


def random_distribution(seed: int, requires_grad: bool = False) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64)
    return logits.log_softmax(-1).requires_grad_(requires_grad)


def teacher_model() -> SummarizationModel:
    torch.manual_seed(5)
    config: ModelConfig = MODEL.model_copy(update={"dim": 32, "dropout": 0.3})
    return SummarizationModel(config, VOCABULARY).eval().requires_grad_(False)


def batch_of(*indices: int) -> Batch:
    return DATA.batch(DATA.training, indices)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_divergence_equals_that_of_pytorch(temperature: float) -> None:
    taught, learnt = random_distribution(1), random_distribution(2)
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    softened = [(part / temperature).softmax(-1) for part in (taught, learnt)]
    terms = torch.nn.functional.kl_div(softened[1].log(), softened[0], reduction="none").sum(-1)
    actual = token_divergence(distribution(taught), distribution(learnt), mask, temperature)
    torch.testing.assert_close(actual, terms[mask].sum())
    same = token_divergence(distribution(taught), distribution(taught), mask, temperature)
    assert float(same) == pytest.approx(0, abs=1e-12)


def test_tokens_that_the_teacher_never_outputs_do_not_count() -> None:
    taught = random_distribution(1).masked_fill(torch.arange(7) == 3, -torch.inf).log_softmax(-1)
    learnt = random_distribution(2).masked_fill(torch.arange(7) == 3, -torch.inf).log_softmax(-1).requires_grad_()
    for temperature in (1.0, 2.0):
        total = token_divergence(distribution(taught), distribution(learnt), torch.ones(2, 5) > 0, temperature)
        (gradient,) = torch.autograd.grad(total, learnt)
        assert total.isfinite()
        assert gradient.isfinite().all()


def test_chunks_change_neither_value_nor_gradient() -> None:
    mask = torch.rand(2, 5) > 0.3
    results = []
    for size in (10**6, 14, 1):
        learnt = random_distribution(2, requires_grad=True)
        total = token_divergence(distribution(random_distribution(1)), distribution(learnt), mask, 2.0, size)
        (gradient,) = torch.autograd.grad(total, learnt)
        results.append((total, gradient))
    for total, gradient in results[1:]:
        torch.testing.assert_close(total, results[0][0], atol=1e-12, rtol=0)
        torch.testing.assert_close(gradient, results[0][1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("output", [PointerOutputConfig(), PointerOutputConfig(copies="memory"), TiedOutputConfig()])
def test_distributions_are_those_of_decoding_and_of_the_references(
    output: PointerOutputConfig | TiedOutputConfig,
) -> None:
    torch.manual_seed(3)
    model, batch = SummarizationModel(MODEL.model_copy(update={"output": output}), VOCABULARY), batch_of(0, 1, 2, 3)
    assert batch.target is not None
    batch.mask[2] = False  # a document without tokens
    memory = model.double().eval().encode(batch.ids, batch.mask, batch.sentences)
    scores = model.score(memory, batch.target)
    assert scores.distribution
    log_probs = scores.distribution(slice(None))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(batch.target.shape, dtype=torch.float64))
    real = batch.target != batch.pad
    references = log_probs.gather(2, batch.target[..., None]).squeeze(2)
    torch.testing.assert_close(references[real], scores.log_prob[real], atol=1e-10, rtol=0)
    with torch.no_grad():
        state, last = model.start(memory, 1), torch.full((4,), model.special_tokens.decoder_start)
        for position, is_real in enumerate(real.T):
            step, state = model.step(last, state)
            last = batch.target[:, position]
            torch.testing.assert_close(log_probs[is_real, position], step[is_real], atol=1e-8, rtol=0)
    names, parameters = zip(*model.named_parameters(), strict=True)
    expected, actual = (
        torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True)
        for loss in (scores.nll, -references[real].sum())
    )
    for name, gradient, other in zip(names, expected, actual, strict=True):
        torch.testing.assert_close(other, gradient, atol=1e-10, rtol=1e-8, msg=name)


def updated_by(updater: Updater, *batches: Batch) -> tuple[dict[str, Tensor], dict[str, float]]:
    metrics = updater.update(batches, rate=0.0).read()
    return {name: p.grad for name, p in updater.model.named_parameters() if p.grad is not None}, metrics


def updated(
    teacher: Teacher | None, config: TrainConfig, *batches: Batch
) -> tuple[dict[str, Tensor], dict[str, float]]:
    return updated_by(Updater(new_model(dropout=0.0).double(), config, CPU, teacher), *batches)


def test_the_loss_mixes_references_and_teacher() -> None:
    config = CONFIG.model_copy(update={"label_smoothing": 0.0, "clip": 0.0})
    model = teacher_model().double()
    alone, metrics = updated(None, config, batch_of(0, 1, 2))
    only, imitating = updated(Teacher(model, 2.0, 1.0), config, batch_of(0, 1, 2))
    half, mixed = updated(Teacher(model, 2.0, 0.25), config, batch_of(0, 1, 2))
    divergence = imitating["distillation"]
    assert imitating["loss"] == pytest.approx(4 * divergence)
    assert mixed["loss"] == pytest.approx(0.75 * metrics["loss"] + 0.25 * 4 * divergence)
    assert mixed["nats"] == pytest.approx(metrics["nats"])
    for name, gradient in half.items():
        torch.testing.assert_close(gradient, 0.75 * alone[name] + 0.25 * only[name], atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("losses", [(), LAYER_LOSSES])
def test_batches_and_their_halves_have_the_same_gradient(losses: tuple[str, ...]) -> None:
    teacher = Teacher(teacher_model().double(), 2.0, losses=losses)
    config = CONFIG.model_copy(update={"loss_weights": dict.fromkeys(losses, 1.0)})
    batch = batch_of(*range(8))
    first, second = halve(batch)
    together, one = updated(teacher, config, batch)
    apart, two = updated(teacher, config, first, second)
    assert {name: one[name] for name in ("distillation", *losses)} == pytest.approx(
        {name: two[name] for name in ("distillation", *losses)}
    )
    for name, gradient in together.items():
        torch.testing.assert_close(apart[name], gradient, rtol=1e-8, atol=1e-11)


def test_the_teacher_stays_as_it_is() -> None:
    model = teacher_model().double()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    updated(Teacher(model), CONFIG, batch_of(0, 1))
    assert not model.training
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in before.items())


BLOCK = 8


def blockwise_model(layers: int, **changes: object) -> SummarizationModel:
    torch.manual_seed(6 + layers)
    encoder = (EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=BLOCK)),) * layers
    config = MODEL.model_copy(update={"encoder": encoder, "dropout": 0.0, **changes})
    return SummarizationModel(config, VOCABULARY).double()


def layers_of(model: SummarizationModel, batch: Batch) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Hidden states of a document, embedding first, and the scores of each block of each layer."""
    states = model.encoder.embed(batch.ids, batch.mask, torch.arange(batch.ids.size(1))[None])[0]
    hidden, maps = [states], []
    for layer in model.encoder.layers:
        assert isinstance(layer, EncoderLayer)
        blocks, mixed = [], []
        for block in layer.attention_residual.norm(states).split(BLOCK):
            query, key, value = (part.unflatten(1, (2, -1)) for part in layer.attention.project(block).chunk(3, 1))
            blocks.append(torch.einsum("qhd,khd->hqk", query, key) / query.size(2) ** 0.5)
            mixed.append(torch.einsum("hqk,khd->qhd", blocks[-1].softmax(2), value).flatten(1))
        maps.append(blocks)
        states = states + layer.attention.out(torch.cat(mixed))
        states = states + layer.feed_forward(layer.feed_forward_residual.norm(states))
        hidden.append(states)
    return hidden, maps


def test_layers_are_compared_as_in_tinybert() -> None:
    student, model = blockwise_model(2), blockwise_model(4, dim=32)
    teacher = Teacher(model.eval().requires_grad_(False), weight=0.0, losses=LAYER_LOSSES)
    config = CONFIG.model_copy(
        update={"clip": 0.0, "label_smoothing": 0.0, "loss_weights": {"hidden_states": 0.5, "attention_maps": 2.0}}
    )
    updater, batch = Updater(student, config, CPU, teacher), batch_of(0, 1, 2, 3)
    mapping = student.get_parameter("imitation.weight")
    with torch.no_grad():
        mapping.normal_()
    hidden_loss = attention_loss = torch.zeros((), dtype=torch.float64)
    for index in range(4):
        document = batch_of(index)
        (own, own_maps), (other, other_maps) = layers_of(student, document), layers_of(model, document)
        for layer in range(3):
            hidden_loss = hidden_loss + F.mse_loss(own[layer] @ mapping.T, other[2 * layer]) / 4
        for layer in range(2):
            blocks = zip(own_maps[layer], other_maps[2 * layer + 1], strict=True)
            errors = [(learnt - taught).square().mean((0, 2)) for learnt, taught in blocks]
            attention_loss = attention_loss + torch.cat(errors).mean() / 4
    (0.5 * hidden_loss + 2.0 * attention_loss).backward()
    expected = {name: p.grad.clone() for name, p in student.named_parameters() if p.grad is not None}
    plain, _ = updated_by(Updater(student, config.model_copy(update={"loss_weights": {}}), CPU), batch)
    actual, metrics = updated_by(updater, batch)
    assert metrics["hidden_states"] == pytest.approx(float(hidden_loss.detach()), rel=1e-12)
    assert metrics["attention_maps"] == pytest.approx(float(attention_loss.detach()), rel=1e-12)
    for name, gradient in actual.items():
        own_gradient = gradient - plain[name] if name in plain else gradient
        torch.testing.assert_close(own_gradient, expected.get(name, torch.zeros_like(gradient)), atol=1e-11, rtol=0)
    assert actual["imitation.weight"].abs().max() > 0


def test_layers_are_compared_with_activation_checkpointing_too() -> None:
    teacher = Teacher(blockwise_model(4, dim=32).eval().requires_grad_(False), losses=LAYER_LOSSES)
    config = CONFIG.model_copy(update={"loss_weights": dict.fromkeys(LAYER_LOSSES, 1.0)})
    results = []
    for checkpointed in (False, True):
        model = blockwise_model(2)
        model.checkpoint_activations(checkpointed)
        results.append(updated_by(Updater(model, config, CPU, teacher), batch_of(0, 1, 2, 3)))
    (plain, metrics), (twice, same) = results
    assert same == metrics
    for name, gradient in plain.items():
        assert torch.equal(twice[name], gradient), name


def test_layers_of_other_shapes_cannot_be_compared() -> None:
    efficient = (EncoderLayerConfig(attention=EfficientAttentionConfig()),)
    for changes, loss, message in (
        ({"encoder": MODEL.encoder * 2}, "hidden_states", ": layer 2 has other poolings, heads or blocks"),
        ({"heads": 4}, "attention_maps", ": layer 1 has other poolings, heads or blocks"),
        ({"encoder": efficient}, "attention_maps", " for a EfficientAttention: vanilla"),
    ):
        teacher = Teacher(blockwise_model(2, dim=32), losses=(loss,))
        updater = Updater(blockwise_model(1, **changes), CONFIG, CPU, teacher)
        with pytest.raises(RecipeError, match=f"must not name {loss}{message}"):
            updated_by(updater, batch_of(0, 1, 2, 3))
