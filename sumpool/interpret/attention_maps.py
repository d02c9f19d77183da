"""Attention weights of every head as a matrix, for heat maps.

The weights are read off the attention itself: with the values of a document replaced by unit vectors, its output before
the output projection is its weights, head_dim of their columns at a time. They are exact for every attention that is
linear in the values of its tokens, also the implied weights of kernels and low-rank approximations, which may be
negative or not sum to 1.
"""

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.tokens import Tokens
from sumpool.errors import CheckpointError

_PARTS = 3
"""Queries, keys and values, the output of the joint projection."""


@torch.no_grad()
def attention_map(attention: Attention, states: Tensor, positions: Tensor) -> Tensor:
    """Return the attention weights of a document.

    Args:
        attention: The attention.
        states: (1, length, dim), what enters it, without padding.
        positions: (1, length), positions in the source.

    Returns:
        (heads, length, length), of queries by keys.

    Raises:
        CheckpointError: If the attention has no weights of tokens on tokens that do not depend on the values.
    """
    heads, length, block = attention.heads, states.size(1), attention.block
    if block and length > block:
        weights = states.new_zeros(heads, length, length)
        for start in range(0, length, block):
            part = slice(start, start + block)
            weights[:, part, part] = attention_map(attention, states[:, part], positions[:, part])
        return weights
    projected, merged = _trace(attention, states, positions, None)
    width = merged.size(-1) // heads
    if projected.shape == (1, length, _PARTS * merged.size(-1)):
        value = projected.chunk(_PARTS, dim=-1)[-1]
        starts = range(0, length, width)
        columns = [_columns(attention, states, positions, start, width) for start in starts]
        weights = torch.cat(columns, dim=-1)[..., :length]
        if torch.allclose(merge_heads(weights[None] @ split_heads(value, heads)), merged, rtol=1e-3, atol=1e-4):
            return weights
    raise CheckpointError(
        f"{type(attention).__name__} must mix the values of tokens with weights that do not depend on them, "
        "got another mixture; draw a model with another attention"
    )


def _columns(attention: Attention, states: Tensor, positions: Tensor, start: int, width: int) -> Tensor:
    """Weights on `width` tokens from `start` on, (heads, length, width); 0 beyond the end."""
    units = torch.eye(states.size(1), dtype=states.dtype, device=states.device)[:, start : start + width]
    units = nn.functional.pad(units, (0, width - units.size(1)))
    _, merged = _trace(attention, states, positions, units.repeat(1, attention.heads)[None])
    return split_heads(merged, attention.heads)[0]


def _trace(attention: Attention, states: Tensor, positions: Tensor, value: Tensor | None) -> tuple[Tensor, Tensor]:
    """Output of the joint projection, with other values if given, and input of the output projection."""
    seen: list[Tensor] = []

    def project(_: nn.Module, __: object, output: Tensor) -> Tensor:
        replaced = output if value is None else torch.cat([output[..., : -value.size(-1)], value], dim=-1)
        seen.append(replaced)
        return replaced

    def keep(_: nn.Module, args: tuple[Tensor, ...]) -> None:
        seen.append(args[0])

    hooks = [attention.project.register_forward_hook(project), attention.out.register_forward_pre_hook(keep)]
    try:
        attention(Tokens.of_states(states, positions=positions))
    finally:
        for hook in hooks:
            hook.remove()
    return seen[0], seen[-1]
