"""Where half precision is not enough."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """Widen half precision to float32; float32 and float64 stay as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
