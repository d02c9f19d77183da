import torch

from sumpool.bench.lra.speed import seconds_per_update
from tests.training.test_classification import CONFIG, data, new_model


def test_the_time_of_an_update_is_measured_and_no_weight_changes() -> None:
    model = new_model(pairs=False)
    before = [part.clone() for part in model.state_dict().values()]
    seconds = seconds_per_update(model, data(pairs=False), CONFIG, torch.device("cpu"))
    assert seconds > 0
    assert all(torch.equal(old, new) for old, new in zip(before, model.state_dict().values(), strict=True))
