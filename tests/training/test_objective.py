import math

import pytest
import torch

from sumpool.training.update import Objective, UpdateSize
from tests.training.toy import CONFIG, DATA, new_model


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
