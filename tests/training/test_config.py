import pytest
from pydantic import ValidationError

from sumpool.training.config import TrainConfig


def test_selection_by_rouge_has_more_documents_by_default() -> None:
    assert TrainConfig().rouge_documents == 20
    assert TrainConfig.model_validate({"select_by": "rouge1"}).rouge_documents == 100
    assert TrainConfig.model_validate({"select_by": "rouge1", "rouge_documents": 60}).rouge_documents == 60
    assert TrainConfig.model_validate({"select_by": "loss", "rouge_documents": 0}).rouge_documents == 0


def test_selection_by_rouge_requires_documents() -> None:
    with pytest.raises(ValidationError, match="rouge_documents must be at least 1 to select by rouge2, got 0"):
        TrainConfig.model_validate({"select_by": "rouge2", "rouge_documents": 0})
