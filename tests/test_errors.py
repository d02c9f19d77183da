import signal

import pytest
import torch

from sumpool import errors
from sumpool.errors import Interrupted, SumpoolError, is_out_of_memory


def test_error_classes_have_distinct_exit_codes() -> None:
    kinds = [kind for kind in SumpoolError.__subclasses__() if kind is not Interrupted]
    assert {kind.__name__: kind.exit_code for kind in kinds} == {
        "RecipeError": 2,
        "DataError": 3,
        "CheckpointError": 4,
        "NonFiniteError": 5,
        "ResourceError": 6,
    }
    assert all(f"{kind.__name__:17} {kind.exit_code}" in (errors.__doc__ or "") for kind in kinds)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interruption_has_the_exit_code_of_its_signal(number: signal.Signals, status: int) -> None:
    error = Interrupted(number)
    assert error.status == status
    assert str(error) == f"stopped by {number.name}; the work is saved"


def test_out_of_memory_errors_are_recognised() -> None:
    with pytest.raises(RuntimeError) as failure:
        torch.empty(2**60)
    assert is_out_of_memory(failure.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported"))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("shapes cannot be multiplied"))
