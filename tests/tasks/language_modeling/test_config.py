import pytest
from pydantic import ValidationError

from sumpool.tasks.language_modeling.config import TextEvaluationConfig


def test_windows_that_leave_tokens_out_are_refused() -> None:
    with pytest.raises(ValidationError, match="step must be at most window = 64, got 65"):
        TextEvaluationConfig(window=64, step=65)
    assert TextEvaluationConfig(window=64, step=64).step == 64
