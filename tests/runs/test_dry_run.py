import pytest
import torch

from sumpool.errors import Interrupted
from sumpool.progress import Progress, no_op
from sumpool.runs.training_setup import measure_update
from tests.training.toy import CONFIG, DATA, new_model


def test_an_update_with_the_longest_batch_is_measured_and_changes_no_weight() -> None:
    model, notes = new_model(), list[Progress]()
    before = {name: weights.clone() for name, weights in model.named_parameters()}
    cost = measure_update(model, DATA, CONFIG, torch.device("cpu"), notes.append)
    assert cost.parameters == sum(weights.numel() for weights in before.values())
    assert cost.source_tokens == 16  # the longest documents are truncated
    assert cost.documents * cost.source_tokens <= CONFIG.batch_tokens
    assert cost.target_tokens <= 5
    assert cost.seconds > 0
    assert cost.device == "cpu"
    assert [progress.note for progress in notes] == ["trying the longest batch"]
    assert all(torch.equal(weights, before[name]) for name, weights in model.named_parameters())


def test_check_may_stop_it_between_updates() -> None:
    def check() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted, match="stopped by SIGTERM"):
        measure_update(new_model(), DATA, CONFIG, torch.device("cpu"), no_op, check)
