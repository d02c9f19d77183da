"""Activations that are worked out again on the way back instead of held (Chen et al., 2016)."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch.utils.checkpoint import checkpoint

Found = TypeVar("Found")


def call(layer: Callable[..., Found], *given: object, again: bool) -> Found:
    """Call a layer.

    Args:
        layer: Any module, whose dropout comes out the same again.
        given: What it is given.
        again: Whether only that is held for the way back, and what happens inside is worked out twice.

    Returns:
        What the layer gives, with the same gradients either way.
    """
    if not again or not torch.is_grad_enabled():
        return layer(*given)
    found: Found = checkpoint(layer, *given, use_reentrant=False)
    return found
