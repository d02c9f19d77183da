"""Freezing of parameters (`train.trainable`)."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch import nn

from sumpool.errors import RecipeError


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Freeze all parameters whose names match no pattern; dropout is unaffected.

    Args:
        model: Model; a shared parameter is known by its first name.
        patterns: Shell patterns, such as "decoder.*".

    Raises:
        RecipeError: If a pattern matches no parameter; the model is then unchanged.
    """
    parameters = dict(model.named_parameters())
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in parameters):
            raise RecipeError(f"train.trainable must match names of weights, got {pattern}{_hint(pattern, parameters)}")
    for name, parameter in parameters.items():
        parameter.requires_grad_(any(fnmatchcase(name, pattern) for pattern in patterns))


def _hint(pattern: str, names: Iterable[str]) -> str:
    """Suggest names of parameters and patterns for modules."""
    known: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        parents = [f"{'.'.join(parts[:count])}.*" for count in range(1, len(parts))]
        known |= dict.fromkeys([name, *parents, *(f"*.{part}.*" for part in parts[1:-1])])
    close = get_close_matches(pattern, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(close)}?)" if close else f"; names are such as {next(iter(known))}"
