import math
import re

import pytest
import torch

from sumpool.core.output._base import Scores
from sumpool.errors import RecipeError
from sumpool.pieces import END, PAD
from sumpool.training.loss import surprise, weigh

TARGET = torch.tensor([[7, END, PAD], [8, 9, END]])


def test_surprise_without_smoothing_is_the_sum_of_negative_log_probabilities() -> None:
    log_prob = torch.tensor([[-1.0, -2.0, -100.0], [-3.0, -4.0, -5.0]])
    assert surprise(Scores(log_prob, torch.full_like(log_prob, -math.inf)), TARGET) == 15.0


def test_smoothing_is_cross_entropy_with_a_mixture_of_reference_and_uniform() -> None:
    torch.manual_seed(1)
    log_probs = torch.randn(2, 3, 11, dtype=torch.float64).log_softmax(-1)
    scores = Scores(log_probs.gather(-1, TARGET[..., None]).squeeze(-1), log_probs.mean(-1))
    expected = torch.nn.functional.cross_entropy(
        log_probs.flatten(0, 1), TARGET.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
    )
    torch.testing.assert_close(surprise(scores, TARGET, 0.1), expected)


def test_padding_gives_no_gradient() -> None:
    log_prob = torch.zeros(2, 3, requires_grad=True)
    surprise(Scores(log_prob, log_prob), TARGET, 0.1).backward()
    assert log_prob.grad is not None
    assert (log_prob.grad != 0).tolist() == (TARGET != PAD).tolist()


def test_half_precision_is_summed_in_single() -> None:
    log_prob = torch.full((1, 1000), -1.001, dtype=torch.bfloat16)
    assert surprise(Scores(log_prob, log_prob), torch.full((1, 1000), END)).dtype == torch.float32


def test_weigh_counts_only_losses_that_have_a_weight() -> None:
    losses = {"kl": torch.tensor(2.0), "boundary": torch.tensor(100.0)}
    assert weigh(losses, {"kl": 0.5}) == 1.0
    assert weigh(losses, {}) == 0.0


def test_weigh_refuses_a_loss_that_the_model_lacks() -> None:
    message = "train.loss_weights must name losses of the model (boundary), got kl"
    with pytest.raises(RecipeError, match=re.escape(message)):
        weigh({"boundary": torch.tensor(1.0)}, {"kl": 0.5})
    with pytest.raises(RecipeError, match="it has none"):
        weigh({}, {"kl": 0.5})
