"""The first weights of a run, taken from another one or from several: `train.init_from`."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor, nn

from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report
from sumpool.text.load import same_tokenizer, tokenizer_files
from sumpool.training.checkpoint import MODEL, read_weights
from sumpool.training.weights import adopt_weights, mean_weights, select_by_words, weights_of

_NAMED = 8
"""Weights that a note names before it says how many more there are."""


def take_weights(model: nn.Module, init_from: Path | Sequence[Path], prepared: Path, report: Report) -> None:
    """Give a new model the best weights of another run, or the mean of those of several; what they lack stays random.

    Selections of sentences that they lack begin with how their cross-attention sees words.

    Args:
        model: The model.
        init_from: The folder of the other run, or of each.
        prepared: Folder of the prepared data that the model will learn from.
        report: Hears which weights are fresh, and which were left out.

    Raises:
        RecipeError: If there is no such run with a model, or its vocabulary is another one.
        CheckpointError: If a file of it is damaged, or a weight has another shape.
    """
    runs = _runs(init_from)
    weights = mean_weights({str(run / MODEL): _read(run, prepared) for run in runs})
    fresh, left_out = adopt_weights(model, select_by_words(weights_of(model), weights), str(runs[0] / MODEL))
    note = f"began with {weights_from(init_from)}; fresh: {_listed(fresh)}; left out: {_listed(left_out)}"
    report(Progress("train", note=note))


def weights_from(init_from: Path | Sequence[Path]) -> str:
    """Say what a run began with."""
    *others, last = map(str, _runs(init_from))
    return f"the mean of the weights of {', '.join(others)} and {last}" if others else f"the weights of {last}"


def _runs(init_from: Path | Sequence[Path]) -> Sequence[Path]:
    return [init_from] if isinstance(init_from, Path) else init_from


def _read(run: Path, prepared: Path) -> dict[str, Tensor]:
    """Read the weights of a run."""
    if not (run / MODEL).is_file():
        raise RecipeError(f"train.init_from must be a run folder with {MODEL}, got {run}")
    weights = read_weights(run)
    if not same_tokenizer(run, prepared):
        tokenizer, *_ = tokenizer_files(run)
        raise RecipeError(
            f"train.init_from must be a run with the vocabulary of {prepared}, but {tokenizer} is another one: "
            "name the prepared data of that run as data.prepared"
        )
    return weights


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")
