import pytest
import torch

from sumpool.core.output._base import Scores
from sumpool.errors import Interrupted
from sumpool.training.update import count_target_tokens
from sumpool.training.validation import validate, validation_batches
from tests.training.toy import CONFIG, MATERIAL, new_model

CPU = torch.device("cpu")


def go_on() -> None:
    pass


def test_every_token_counts_the_same_however_documents_are_batched() -> None:
    model = new_model().double()
    total, tokens = 0.0, 0
    model.eval()
    for number in range(len(MATERIAL.validation)):
        batch = MATERIAL.batch(MATERIAL.validation, [number])
        assert batch.target is not None
        scores: Scores = model(batch.ids, batch.mask, batch.sentences, batch.target)[0]
        total -= scores.log_prob.sum().item()
        tokens += count_target_tokens(batch)
    for batch_tokens in (1, 40, 1000):
        config = CONFIG.model_copy(update={"batch_tokens": batch_tokens})
        assert validate(model, MATERIAL, config, CPU, go_on) == pytest.approx(total / tokens, rel=1e-9)


def test_only_the_first_documents_are_taken_within_the_budget() -> None:
    config = CONFIG.model_copy(update={"validate_documents": 5, "batch_tokens": 40})
    batches = validation_batches(MATERIAL, config)
    assert sorted(number for batch in batches for number in batch) == [0, 1, 2, 3, 4]
    assert all(MATERIAL.batch(MATERIAL.validation, batch).ids.numel() <= 40 for batch in batches)


def test_a_signal_stops_a_validation() -> None:
    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted, match="SIGTERM"):
        validate(new_model(), MATERIAL, CONFIG, CPU, stop)
