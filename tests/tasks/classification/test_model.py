import pytest
import torch
from torch.nn import functional as F

from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import EncoderLayerConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.tasks.classification.model import (
    ClassificationModel,
    ClassificationModelConfig,
    ClassifierConfig,
)

VOCABULARY, CLASSES = 30, 4


def config(head: ClassifierConfig, keep: int | None = None) -> ClassificationModelConfig:
    pool = None if keep is None else HalvingPoolerConfig(keep=keep)
    layers = (
        EncoderLayerConfig(attention=VanillaAttentionConfig(), pool=pool),
        EncoderLayerConfig(attention=VanillaAttentionConfig()),
    )
    return ClassificationModelConfig(
        dim=8, heads=2, feed_forward=16, dropout=0.0, source_length=12, encoder=layers, classifier=head
    )


def model(head: ClassifierConfig, keep: int | None = None) -> ClassificationModel:
    torch.manual_seed(1)
    return ClassificationModel(config(head, keep), VOCABULARY, CLASSES).double()


def documents(*lengths: int, width: int = 12) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    ids = torch.zeros(len(lengths), width, dtype=torch.int64)
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(5, VOCABULARY, (length,), generator=torch.Generator().manual_seed(length))
    return ids, mask, torch.zeros_like(ids)


@pytest.mark.parametrize("keep", [None, 3])
@pytest.mark.parametrize("mean_over", ["tokens", "source_length"])
def test_padding_and_batch_mates_never_matter(mean_over: str, keep: int | None) -> None:
    head = ClassifierConfig.model_validate({"mean_over": mean_over})
    classifier = model(head, keep)
    together = classifier.logits(*documents(5, 12, 1))
    for row, length in enumerate((5, 12, 1)):
        alone = classifier.logits(*documents(length, width=length))
        torch.testing.assert_close(together[row : row + 1], alone, rtol=1e-10, atol=1e-10)


def test_the_vector_of_a_document_is_the_mean_of_its_states() -> None:
    ids, mask, sentences = documents(3, 6, width=6)
    states = torch.randn(2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    tokens = Tokens.from_source(states, mask, sentences, ids, ids)
    vectors, over_padding = (
        model(ClassifierConfig.model_validate({"mean_over": name})).vectors(tokens)
        for name in ("tokens", "source_length")
    )
    for row, length in enumerate((3, 6)):
        torch.testing.assert_close(vectors[row], states[row, :length].mean(0))
        torch.testing.assert_close(over_padding[row], states[row, :length].sum(0) / 12)


def test_a_document_without_tokens_is_finite_with_its_gradient() -> None:
    classifier = model(ClassifierConfig())
    logits = classifier.logits(*documents(0, 4))
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(part.grad is None or part.grad.isfinite().all() for part in classifier.parameters())


def test_two_towers_share_weights_and_combine_vectors() -> None:
    classifier = model(ClassifierConfig(towers=2))
    parts = documents(5, 7, 7, 5)
    pairs = tuple(part.view(2, 2, -1) for part in parts)
    memory = classifier.encoder(*parts).tokens
    first, second = classifier.vectors(memory)[:2]
    expected = classifier.head(torch.cat([first, second, first * second, first - second]))
    torch.testing.assert_close(classifier.logits(*pairs)[0], expected)
    assert not torch.allclose(classifier.logits(*pairs)[0], classifier.logits(*pairs)[1])  # the order matters


def test_a_hidden_layer_comes_before_the_classes() -> None:
    classifier = model(ClassifierConfig(hidden=5))
    shapes = [tuple(part.weight.shape) for part in classifier.head if isinstance(part, torch.nn.Linear)]
    assert shapes == [(5, 8), (CLASSES, 5)]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_scores_are_those_of_the_labels(smoothing: float) -> None:
    classifier = model(ClassifierConfig())
    batch, labels = documents(5, 12, 1), torch.tensor([1, 0, 3])
    logits = classifier.logits(*batch)
    scores, losses, metrics = classifier(*batch, labels[:, None], None, smoothing)
    torch.testing.assert_close(scores.nll, F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum"))
    torch.testing.assert_close(scores.log_prob[:, 0], -F.cross_entropy(logits, labels, reduction="none"))
    correct = (logits.argmax(1) == labels).sum()
    assert scores.counts["accuracy"] == correct
    torch.testing.assert_close(metrics["accuracy"], correct.double() / 3)
    assert not losses
    assert not scores.log_prob.requires_grad


def test_too_long_documents_and_missing_ones_are_refused() -> None:
    with pytest.raises(ValueError, match=r"length must be at most source_length = 12, got 13"):
        model(ClassifierConfig()).logits(*documents(13, width=13))
    with pytest.raises(ValueError, match=r"as many documents as the model has towers, 2, got 1"):
        model(ClassifierConfig(towers=2)).logits(*documents(3))


def test_activation_checkpointing_gives_equal_gradients() -> None:
    gradients = []
    for on in (False, True):
        classifier = model(ClassifierConfig())
        classifier.checkpoint_activations(on)
        classifier(*documents(5, 12), torch.tensor([[1], [2]]))[0].nll.backward()
        gradients.append([part.grad for part in classifier.parameters()])
    torch.testing.assert_close(*gradients, rtol=0, atol=0)
