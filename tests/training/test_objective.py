import math

import pytest
import torch
from torch.nn import functional as F

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.output.tied import TiedOutput, TiedOutputConfig
from sumpool.errors import RecipeError
from sumpool.training.update import Objective, UpdateSize
from tests.training.toy import CONFIG, DATA, MODEL, VOCABULARY, new_model


def test_the_size_of_an_update_is_that_of_all_its_batches() -> None:
    batches = [DATA.batch(DATA.training, indices) for indices in ([0, 1], [2])]
    size = UpdateSize.of(batches)
    assert size.documents == 3
    assert size.source_tokens == sum(int(batch.mask.sum()) for batch in batches)


def test_batches_without_weight_have_no_gradient() -> None:
    objective = Objective(new_model(dropout=0.0), CONFIG, torch.float32, None)
    loss, parts = objective(DATA.batch(DATA.training, [0, 1]), UpdateSize(math.inf, math.inf))
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(float(value) == 0 for value in parts.values())
    gradients = [parameter.grad for parameter in objective.parameters() if parameter.grad is not None]
    assert gradients
    assert all(float(gradient.abs().max()) == 0 for gradient in gradients)


def test_losses_of_batches_add_up() -> None:
    objective = Objective(new_model(dropout=0.0).double(), CONFIG, torch.float32, None)
    together = DATA.batch(DATA.training, [0, 1, 2])
    size = UpdateSize.of([together])
    apart = sum(float(objective(DATA.batch(DATA.training, [number]), size)[0].detach()) for number in range(3))
    assert apart == pytest.approx(float(objective(together, size)[0].detach()), rel=1e-6)


def test_smoothing_over_others_is_the_divergence_from_the_published_targets() -> None:
    torch.manual_seed(1)
    config = MODEL.model_copy(update={"dropout": 0.0, "output": TiedOutputConfig(bias=True)})
    model = SummarizationModel(config, VOCABULARY).double()
    assert isinstance(model.output, TiedOutput)
    assert model.output.bias is not None
    model.output.bias[[1, 3]] = -math.inf
    smoothed = CONFIG.model_copy(update={"label_smoothing_over": "others"})
    batch = DATA.batch(DATA.training, [0, 1, 2])
    assert batch.target is not None
    real = batch.target != batch.pad
    loss, _ = Objective(model, smoothed, torch.float32)(batch, UpdateSize(1, 3))
    actual = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)

    scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
    assert scores.distribution
    log_probs = scores.distribution(slice(None))[real]  # (tokens, vocab)
    others = VOCABULARY - 2 - 1
    targets = torch.full_like(log_probs, smoothed.label_smoothing / others)  # Eq. 4
    targets[:, [1, 3]] = 0
    targets.scatter_(1, batch.target[real][:, None], 1 - smoothed.label_smoothing)
    divergence = F.kl_div(log_probs.masked_fill(log_probs == -math.inf, 0.0), targets, reduction="sum")  # Eq. 3
    expected = torch.autograd.grad(divergence, list(model.parameters()), allow_unused=True)
    entropy = -torch.special.xlogy(targets, targets).sum()
    torch.testing.assert_close(loss, divergence + entropy, rtol=0, atol=1e-10)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)


def test_others_cannot_have_more_than_the_target() -> None:
    config = CONFIG.model_copy(update={"label_smoothing": 0.98, "label_smoothing_over": "others"})
    objective = Objective(new_model(), config, torch.float32)
    with pytest.raises(RecipeError, match=r"train\.label_smoothing must be at most 0\.975 of 40 classes, got 0\.98"):
        objective(DATA.batch(DATA.training, [0]), UpdateSize(1, 1))
