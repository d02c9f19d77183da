"""Initial weights of a run from one or several other runs: `train.init_from`."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor, nn

from sumpool.errors import RecipeError
from sumpool.io.manifest import MODEL
from sumpool.progress import Progress, Report
from sumpool.text.load import load_tokenizer, same_tokenizer
from sumpool.training.encoder_from_text import as_encoder, is_language_model
from sumpool.training.vocabulary_transfer import transfer_vocabulary
from sumpool.training.weights import adopt_weights, mean_weights, read_weights, select_by_words, weights_of

_LISTED_NAMES = 8
"""Weights that a note names before it counts the others."""


def init_weights(model: nn.Module, init_from: Path | Sequence[Path], prepared: Path, report: Report) -> None:
    """Load the best weights of another run, or the mean of several, into a new model; other weights stay random.

    Sentence selections that the other runs lack are initialised from the projections of their cross-attention. An
    encoder begins with the layers and the boundaries of a language model. Tokens of another vocabulary are initialised
    with the mean of their subtokens, see `transfer_vocabulary`.

    Raises:
        RecipeError: If a run has no model.
        DataError: If the tokenizer of a run is missing or damaged.
        CheckpointError: If a file of a run is damaged, or a weight has another shape.
    """
    runs = _runs(init_from)
    weights = mean_weights({str(run / MODEL): _read(run, model, prepared, report) for run in runs})
    if is_language_model(weights) and not is_language_model(weights_of(model)):
        weights = as_encoder(weights_of(model), weights)
    fresh, left_out = adopt_weights(model, select_by_words(weights_of(model), weights), str(runs[0] / MODEL))
    note = f"began with {describe_init(init_from)}; fresh: {_listed(fresh)}; left out: {_listed(left_out)}"
    report(Progress("train", note=note))


def describe_init(init_from: Path | Sequence[Path]) -> str:
    """Describe the initial weights of a run."""
    *others, last = map(str, _runs(init_from))
    return f"the mean of the weights of {', '.join(others)} and {last}" if others else f"the weights of {last}"


def _runs(init_from: Path | Sequence[Path]) -> Sequence[Path]:
    return [init_from] if isinstance(init_from, Path) else init_from


def _read(run: Path, model: nn.Module, prepared: Path, report: Report) -> dict[str, Tensor]:
    """Read the weights of a run, for the vocabulary of the prepared data."""
    if not (run / MODEL).is_file():
        raise RecipeError(f"train.init_from must be a run folder with {MODEL}, got {run}")
    weights = read_weights(run)
    if not same_tokenizer(run, prepared):
        old, new = load_tokenizer(run), load_tokenizer(prepared)
        counts = f"the {new.vocab_size:,} tokens of {prepared} are initialised as means of its {old.vocab_size:,}"
        report(Progress("train", note=f"{run} has another vocabulary: {counts}; data.tokenizer={run} keeps it"))
        weights = transfer_vocabulary(weights, weights_of(model), old, new)
    return weights


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED_NAMES
    return (", ".join(names[:_LISTED_NAMES]) or "none") + (f" and {more} more" if more > 0 else "")
