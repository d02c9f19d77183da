import pytest
import torch

from sumpool.core.output._base import Scores
from sumpool.errors import Interrupted
from sumpool.training.fit import validate, validation_batches
from sumpool.training.update import count_target_tokens
from tests.training.toy import CONFIG, DATA, new_model

CPU = torch.device("cpu")


def no_op() -> None:
    pass


def test_loss_is_a_mean_over_tokens_independent_of_batching() -> None:
    model = new_model().double()
    total, tokens = 0.0, 0
    model.eval()
    for index in range(len(DATA.validation)):
        batch = DATA.batch(DATA.validation, [index])
        assert batch.target is not None
        scores: Scores = model(batch.ids, batch.mask, batch.sentences, batch.target)[0]
        total -= scores.log_prob.sum().item()
        tokens += count_target_tokens(batch)
    for batch_tokens in (1, 40, 1000):
        config = CONFIG.model_copy(update={"batch_tokens": batch_tokens})
        assert validate(model, DATA, config, CPU, no_op)[0] == pytest.approx(total / tokens, rel=1e-9)


def test_batches_have_the_first_documents_within_the_token_budget() -> None:
    config = CONFIG.model_copy(update={"validate_documents": 5, "batch_tokens": 40})
    batches = validation_batches(DATA, config)
    assert sorted(index for batch in batches for index in batch) == [0, 1, 2, 3, 4]
    assert all(DATA.batch(DATA.validation, batch).ids.numel() <= 40 for batch in batches)


def test_a_signal_stops_validation() -> None:
    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted, match="SIGTERM"):
        validate(new_model(), DATA, CONFIG, CPU, stop)
