import pytest
import torch
from torch.nn import functional as F

from sumpool.core.tokens import Tokens
from sumpool.tasks.classification.model import ClassificationModel, ClassificationModelConfig

VOCABULARY, CLASSES = 30, 4


def model(keep: int | None = None, **head: object) -> ClassificationModel:
    torch.manual_seed(1)
    attention = {"attention": {"kind": "vanilla"}}
    pool = {} if keep is None else {"pool": {"kind": "halving", "keep": keep}}
    sizes = {"dim": 8, "heads": 2, "feed_forward": 16, "dropout": 0.0, "source_length": 12}
    settings = {**sizes, "encoder": [attention | pool, attention], "classifier": head}
    return ClassificationModel(ClassificationModelConfig.model_validate(settings), VOCABULARY, CLASSES).double()


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
    classifier = model(keep, mean_over=mean_over)
    together = classifier.logits(*documents(5, 12, 1))
    for row, length in enumerate((5, 12, 1)):
        alone = classifier.logits(*documents(length, width=length))
        torch.testing.assert_close(together[row : row + 1], alone, rtol=1e-10, atol=1e-10)


def test_the_vector_of_a_document_is_the_mean_of_its_states() -> None:
    ids, mask, sentences = documents(3, 6, width=6)
    states = torch.randn(2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    tokens = Tokens.from_source(states, mask, sentences, ids, ids)
    vectors, over_padding = (model(mean_over=name).vectors(tokens) for name in ("tokens", "source_length"))
    for row, length in enumerate((3, 6)):
        torch.testing.assert_close(vectors[row], states[row, :length].mean(0))
        torch.testing.assert_close(over_padding[row], states[row, :length].sum(0) / 12)
    classifier = model()
    logits = classifier.logits(*documents(0, 4))
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(part.grad is None or part.grad.isfinite().all() for part in classifier.parameters())


def test_two_towers_share_weights_and_combine_vectors() -> None:
    classifier = model(towers=2)
    parts = documents(5, 7, 7, 5)
    pairs = tuple(part.view(2, 2, -1) for part in parts)
    memory = classifier.encoder(*parts).tokens
    first, second = classifier.vectors(memory)[:2]
    expected = classifier.head(torch.cat([first, second, first * second, first - second]))
    torch.testing.assert_close(classifier.logits(*pairs)[0], expected)
    assert not torch.allclose(classifier.logits(*pairs)[0], classifier.logits(*pairs)[1])  # the order matters
    with pytest.raises(ValueError, match=r"length must be at most source_length = 12, got 13"):
        model().logits(*documents(13, width=13))
    with pytest.raises(ValueError, match=r"as many documents as the model has towers, 2, got 1"):
        classifier.logits(*documents(3))
    # a hidden layer comes before the classes
    shapes = [tuple(part.weight.shape) for part in model(hidden=5).head if isinstance(part, torch.nn.Linear)]
    assert shapes == [(5, 8), (CLASSES, 5)]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_scores_are_those_of_the_labels(smoothing: float) -> None:
    classifier = model()
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


def test_activation_checkpointing_gives_equal_gradients() -> None:
    gradients = []
    for on in (False, True):
        classifier = model()
        classifier.checkpoint_activations(on)
        classifier(*documents(5, 12), torch.tensor([[1], [2]]))[0].nll.backward()
        gradients.append([part.grad for part in classifier.parameters()])
    torch.testing.assert_close(*gradients, rtol=0, atol=0)
