"""Initial weights of a run from one or several other runs: `train.init_from`.

A model keeps what it has learnt about words when training continues with the vocabulary of another domain: the
embedding of a new token is the mean of those of its subtokens (fast vocabulary transfer: Gee et al., 2022,
arXiv:2402.09977).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.errors import RecipeError
from sumpool.io.manifest import MODEL, run_folder
from sumpool.progress import Progress, Report
from sumpool.text.tokenizer import Tokenizer, load_tokenizer, same_tokenizer
from sumpool.training.weights import compare_weights, needed_weights, read_weights, set_weights, weights_of

_LISTED_NAMES = 8
"""Weights that a note names before it counts the others."""
_TOKEN_ROWS = re.compile(r"(?:^|\.)(?:embedding|head|out)\.(?:weight|bias)$|^output\.bias$")
"""Embeddings and outputs over the vocabulary, by name, as another layer may have as many rows as there are tokens."""


def init_weights(model: nn.Module, init_from: Path | Sequence[Path], prepared: Path, report: Report) -> None:
    """Load the best weights of another run, or the mean of several, into a new model; other weights stay random.

    Sentence selections that the other runs lack are initialised from the projections of their cross-attention, and the
    shared queries and keys of LSH attention from queries. Tokens of another vocabulary are initialised with the mean of
    their subtokens, see `transfer_vocabulary`.

    Raises:
        RecipeError: If a run has no model.
        DataError: If the tokenizer of a run is missing or damaged.
        CheckpointError: If a file of a run is damaged, or a weight has another shape.
    """
    runs, read = _runs(init_from), dict[str, dict[str, Tensor]]()
    for run in runs:
        if not (run_folder(run) / MODEL).is_file():
            raise RecipeError(f"train.init_from must be a run folder with {MODEL}, got {run}")
        weights = read_weights(run_folder(run))
        if not same_tokenizer(run, prepared):
            old, new = load_tokenizer(run), load_tokenizer(prepared)
            counts = f"the {new.vocab_size:,} tokens of {prepared} are initialised as means of its {old.vocab_size:,}"
            report(Progress("train", note=f"{run} has another vocabulary: {counts}; data.tokenizer={run} keeps it"))
            weights = transfer_vocabulary(weights, weights_of(model), old, new)
        read[str(run / MODEL)] = weights
    own = weights_of(model)
    weights = share_queries(own, select_by_words(own, mean_weights(read)))
    set_weights(model, own | needed_weights(model, weights), str(runs[0] / MODEL))
    fresh, left_out = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    note = f"began with {describe_init(init_from)}; fresh: {_listed(fresh)}; left out: {_listed(left_out)}"
    report(Progress("train", note=note))


def describe_init(init_from: Path | Sequence[Path]) -> str:
    """Describe the initial weights of a run."""
    *others, last = map(str, _runs(init_from))
    return f"the mean of the weights of {', '.join(others)} and {last}" if others else f"the weights of {last}"


def _runs(init_from: Path | Sequence[Path]) -> Sequence[Path]:
    return [init_from] if isinstance(init_from, Path) else init_from


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED_NAMES
    return (", ".join(names[:_LISTED_NAMES]) or "none") + (f" and {more} more" if more > 0 else "")


def mean_weights(saved: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Mean of the weights of several models (uniform soup; Wortsman et al., 2022, arXiv:2203.05482).

    Suits models of the same initialisation that were trained with different data orders.

    Args:
        saved: Result of `weights_of` for each model, by source.

    Raises:
        CheckpointError: If names, shapes or types differ.
    """
    (first, model), *others = saved.items()
    for origin, other in others:
        compare_weights(model, other, first, origin)
    return {
        name: torch.stack([other[name].double() for other in saved.values()]).mean(0).to(tensor.dtype)
        for name, tensor in model.items()
    }


def select_by_words(names: Iterable[str], saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Initialise approximate sentence selections with the word projections of their cross-attention.

    Such a selection is close to the ideal one if sentence vectors are close to those of their words (Manakul and
    Gales, 2021, appendix A.1).

    Args:
        names: Names of the weights of a model.
        saved: Result of `weights_of`, possibly for a model without selection.

    Returns:
        Saved weights, with missing query and key projections of selections whose cross-attention was saved.
    """
    added: dict[str, Tensor] = {}
    for name in set(names) - saved.keys():
        attention, _, projection = name.partition(".selection.")
        words = saved.get(f"{attention}.{projection.replace('key.', 'key_value.')}")
        if projection.startswith(("query.", "key.")) and words is not None:
            added[name] = words.chunk(2)[0] if projection.startswith("key.") else words
    return {**saved, **added}


def share_queries(expected: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leave the keys out of projections to queries, keys and values where a model, as in LSH attention, has no keys."""
    shared = dict(saved)
    for name, weights in saved.items():
        if ".attention.project." in name and name in expected and 3 * len(expected[name]) == 2 * len(weights):
            query, _, value = weights.chunk(3)
            shared[name] = torch.cat([query, value])
    return shared


def transfer_vocabulary(
    saved: Mapping[str, Tensor], expected: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer
) -> dict[str, Tensor]:
    """Replace embeddings, and other weights with one row per token, by those of a new vocabulary.

    Args:
        saved: Weights by name, of a model with the old vocabulary.
        expected: Weights of the model with the new vocabulary, which say how many rows a weight has.
        old: Tokenizer of the old vocabulary.
        new: Tokenizer of the new vocabulary.

    Returns:
        The weights by name. The row of a new token is the mean of the rows of its subtokens, or of all rows if the old
        vocabulary has none of its bytes.
    """
    subtokens = split_tokens(old, new)

    moved = dict(saved)
    for name, weight in saved.items():
        has_token_rows = name in expected and _TOKEN_ROWS.search(name) and len(weight) == old.vocab_size
        if has_token_rows and len(expected[name]) == new.vocab_size:
            moved[name] = _mean_rows(weight, subtokens)
    return moved


def split_tokens(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """Split each token of the new vocabulary into tokens of the old one, by greedy longest match of its bytes.

    A special token is that of the same role; a token without known bytes has no subtokens.
    """
    ids: dict[bytes, int] = {}
    for token, content in enumerate(old.token_bytes()):
        if content:
            ids.setdefault(content, token)
    special = (new.special_tokens, old.special_tokens)
    roles = dict(zip(*((of.pad, of.eos, of.decoder_start, *of.suppressed) for of in special), strict=False))
    split: list[list[int]] = []
    for token, content in enumerate(new.token_bytes()):
        subtokens: list[int] = [roles[token]] if token in roles else []
        start = len(content) if token in roles else 0
        while start < len(content):
            end = next((end for end in range(len(content), start, -1) if content[start:end] in ids), None)
            if end is not None:
                subtokens.append(ids[content[start:end]])
            start = end or start + 1  # unknown bytes are left out
        split.append(subtokens)
    return split


def _mean_rows(weight: Tensor, subtokens: Sequence[Sequence[int]]) -> Tensor:
    rows = weight.double().flatten(1) if weight.ndim > 1 else weight.double()[:, None]
    offsets = torch.tensor([0, *accumulate(map(len, subtokens))][:-1])
    means = F.embedding_bag(
        torch.tensor([*chain.from_iterable(subtokens)], dtype=torch.long), rows, offsets, mode="mean"
    )
    is_empty = torch.tensor([not bag for bag in subtokens])
    means = torch.where(is_empty[:, None], rows.mean(0), means)
    return means.reshape(len(subtokens), *weight.shape[1:]).to(weight.dtype)
