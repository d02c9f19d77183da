import re

import pytest
import torch

from sumpool.errors import RecipeError
from sumpool.training.loss import weigh


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
