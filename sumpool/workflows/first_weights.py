"""The first weights of a run, taken from another one: `train.init_from`."""

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report
from sumpool.text.tokenizer import tokenizer_file
from sumpool.training.checkpoint import MODEL, read_weights
from sumpool.training.weights import adopt_weights, select_by_words, weights_of

_NAMED = 8
"""Weights that a note names before it says how many more there are."""


def take_weights(model: nn.Module, run: Path, prepared: Path, report: Report) -> None:
    """Give a new model the best weights of another run; what that run lacks keeps its random start.

    Selections of sentences that it lacks begin with how its cross-attention sees words.

    Args:
        model: The model.
        run: The other run's folder.
        prepared: Folder of the prepared data that the model will learn from.
        report: Hears which weights are fresh, and which were left out.

    Raises:
        RecipeError: If there is no such run with a model, or its vocabulary is another one.
        CheckpointError: If a file of it is damaged, or a weight has another shape.
    """
    if not (run / MODEL).is_file():
        raise RecipeError(f"train.init_from must be a run folder with {MODEL}, got {run}")
    weights = read_weights(run)
    tokenizer = tokenizer_file(run)
    if tokenizer.read_bytes() != tokenizer_file(prepared).read_bytes():
        raise RecipeError(
            f"train.init_from must be a run with the vocabulary of {prepared}, but {tokenizer} is another one: "
            "name the prepared data of that run as data.prepared"
        )
    weights = select_by_words(weights_of(model), weights)
    fresh, left_out = adopt_weights(model, weights, str(run / MODEL))
    note = f"began with the weights of {run}; fresh: {_listed(fresh)}; left out: {_listed(left_out)}"
    report(Progress("train", note=note))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")
