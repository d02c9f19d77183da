"""The weights of a model by name, each tensor once."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from sumpool.errors import CheckpointError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Name the tensors of a model; one that several parts share goes by its first name."""
    first_names: dict[int, str] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first_names.setdefault(id(tensor), name)
    state = model.state_dict()
    return {name: state[name].contiguous() for name in first_names.values()}


def set_weights(model: nn.Module, saved: Mapping[str, Tensor], origin: str) -> None:
    """Copy saved weights into a model.

    Args:
        model: The model, of the same shape.
        saved: What `weights_of` gave.
        origin: Where the weights come from, for the error.

    Raises:
        CheckpointError: If names, shapes or types differ; the model is then as it was.
    """
    own = weights_of(model)
    _compare(own, saved, "this model", origin)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(saved[name])


def mean_weights(saved: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Take the mean of the weights of several models (Wortsman et al., 2022, arXiv:2203.05482, a uniform soup).

    Models that began alike and learnt from their data in another order lie around what they have in common.

    Args:
        saved: What `weights_of` gave of each, by where it comes from.

    Raises:
        CheckpointError: If names, shapes or types differ.
    """
    (first, model), *others = saved.items()
    for origin, other in others:
        _compare(model, other, first, origin)
    return {
        name: torch.stack([other[name].double() for other in saved.values()]).mean(0).to(tensor.dtype)
        for name, tensor in model.items()
    }


def needed_weights(model: nn.Module, saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give those saved weights that the model has a place for."""
    return {name: saved[name] for name in weights_of(model) if name in saved}


def adopt_weights(model: nn.Module, saved: Mapping[str, Tensor], origin: str) -> tuple[list[str], list[str]]:
    """Copy those saved weights into a model that it has a place for.

    Args:
        model: The model, perhaps with other parts.
        saved: What `weights_of` gave.
        origin: Where the weights come from, for the error.

    Returns:
        Names that keep what they were, and names that the model does not have.

    Raises:
        CheckpointError: If a shape or a type differs; the model is then as it was.
    """
    own = weights_of(model)
    set_weights(model, own | needed_weights(model, saved), origin)
    return sorted(own.keys() - saved.keys()), sorted(saved.keys() - own.keys())


def select_by_words(names: Iterable[str], saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add maps of an approximate selection of sentences that are those of the words in the same cross-attention.

    A selection that begins so is near the ideal one where a vector of a sentence is near those of its words (Manakul
    and Gales, 2021, appendix A.1).

    Args:
        names: Weights of a model.
        saved: What `weights_of` gave of one that may have no such selection.

    Returns:
        What was saved, and the queries and keys that it lacks of selections whose cross-attention was saved.
    """
    added: dict[str, Tensor] = {}
    for name in set(names) - saved.keys():
        attention, _, own = name.partition(".selection.")
        words = saved.get(f"{attention}.{own.replace('key.', 'key_value.')}")
        if own.startswith(("query.", "key.")) and words is not None:
            added[name] = words.chunk(2)[0] if own.startswith("key.") else words
    return {**saved, **added}


def _compare(expected: Mapping[str, Tensor], got: Mapping[str, Tensor], place: str, origin: str) -> None:
    for name in sorted(expected.keys() | got.keys()):
        wanted, found = (_describe(tensors.get(name)) for tensors in (expected, got))
        if wanted != found:
            raise CheckpointError(f"{origin}: {name} must be {wanted} in {place}, got {found}")


def _describe(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
