"""Faithfulness of attributions: the loss of a summary's log-probability when attributed sentences are deleted.

An attribution is faithful if the model needs what it names: deleting the sentences with the largest weights must lower
the log-probability of the summary more than deleting random sentences of as many tokens (comprehensiveness of DeYoung
et al., 2020, arXiv:1911.03429, in log-probabilities). Tokens are removed, not masked, so that the model reads a shorter
document of the usual kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch, collate, fill_batches
from sumpool.data.shards import Item
from sumpool.interpret.attribution import Method, attribute, content_tokens, sum_by_sentence

Floats = npt.NDArray[np.float64]

SHARE = 0.1
"""Share of a document's sentences that is deleted."""
RANDOM_DRAWS = 5
"""Random deletions per document, whose mean is compared with."""


@dataclass(frozen=True)
class DeletionEffect:
    """Effect of deleting sentences of one document.

    Attributes:
        tokens: Deleted tokens.
        top: Loss of log-probability without the sentences of the largest weights, in nats.
        random: Mean loss without as many tokens of random sentences, in nats.
    """

    tokens: int
    top: float
    random: float


def sentence_weights(model: SummarizationModel, item: Item) -> dict[str, Floats]:
    """Attribute a summary to the sentences of its document by every method of one forward pass.

    Args:
        model: Model in evaluation mode.
        item: The document with its summary.

    Returns:
        By method, (sentences,).
    """
    (attribution,) = attribute(model, _collate(model, [item]))
    target = torch.zeros(len(attribution.log_prob), dtype=torch.long)
    source = torch.from_numpy(item.sentences.astype(np.int64))
    content = content_tokens(model, item)
    return {
        method: sum_by_sentence(attribution.weights(method) * content, target, source)[0].numpy()
        for method in get_args(Method)
    }


def leave_one_out(model: SummarizationModel, item: Item, batch_tokens: int) -> Floats:
    """Loss of the summary's log-probability without each sentence, (sentences,): one forward pass per sentence."""
    sentences = range(int(item.sentences[-1]) + 1)
    deletable = content_tokens(model, item).numpy() > 0
    shorter = [_without(item, (item.sentences == sentence) & deletable) for sentence in sentences]
    return log_probability(model, [item], batch_tokens) - log_probability(model, shorter, batch_tokens)


def deletion_effects(
    model: SummarizationModel, item: Item, weights: Mapping[str, Floats], batch_tokens: int, seed: int
) -> dict[str, DeletionEffect]:
    """Delete a tenth of the sentences, at least one, by the weights of each method, and as many tokens at random.

    Args:
        model: Model in evaluation mode.
        item: The document with its summary.
        weights: Weights of the sentences by method, (sentences,) each.
        batch_tokens: Tokens of a batch, padding included.
        seed: Seed of the random deletions.
    """
    deletions: list[npt.NDArray[np.bool_]] = []
    deletable = content_tokens(model, item).numpy() > 0
    for values in weights.values():
        count = max(1, round(SHARE * len(values)))
        top = np.argsort(-values, kind="stable")[:count]
        deletions.append(np.isin(item.sentences, top) & deletable)
        generator = np.random.default_rng(seed)
        deletions += [
            random_deletion(item.sentences, deletable, int(deletions[-1].sum()), generator) for _ in range(RANDOM_DRAWS)
        ]
    shorter = [_without(item, deletion) for deletion in deletions]
    losses = log_probability(model, [item], batch_tokens) - log_probability(model, shorter, batch_tokens)
    effects = {}
    for index, name in enumerate(weights):
        first = index * (RANDOM_DRAWS + 1)
        random = losses[first + 1 : first + 1 + RANDOM_DRAWS]
        effects[name] = DeletionEffect(int(deletions[first].sum()), float(losses[first]), float(random.mean()))
    return effects


def random_deletion(
    sentences: npt.NDArray[np.int32], deletable: npt.NDArray[np.bool_], tokens: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Select whole random sentences of a number of tokens; of the last one as many as are missing.

    Args:
        sentences: (length,), sentence number of each token.
        deletable: (length,), False at special tokens.
        tokens: Number of tokens.
        generator: Random generator.

    Returns:
        (length,), True at selected tokens.
    """
    rank = generator.permutation(int(sentences[-1]) + 1)[sentences]  # (length,)
    order = np.argsort(np.where(deletable, rank, len(sentences)), kind="stable")
    deletion = np.zeros(len(sentences), np.bool_)
    deletion[order[:tokens]] = True
    return deletion & deletable


@torch.inference_mode()
def log_probability(model: SummarizationModel, items: Sequence[Item], batch_tokens: int) -> Floats:
    """Compute the log-probability of each document's summary, in nats, (documents,)."""
    lengths = [len(item.ids) for item in items]
    log_probs = np.zeros(len(items))
    for rows in fill_batches(sorted(range(len(items)), key=lengths.__getitem__), lengths, batch_tokens):
        batch = _collate(model, [items[row] for row in rows])
        assert batch.target is not None
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        log_probs[rows] = model.score(memory, batch.target).log_prob.double().sum(1).cpu().numpy()
    return log_probs


def _collate(model: SummarizationModel, items: Sequence[Item]) -> Batch:
    config = model.config
    batch = collate(items, config.source_length, config.target_length, special_tokens=model.special_tokens)
    return batch.to(model.embedding.weight.device)


def _without(item: Item, deletion: npt.NDArray[np.bool_]) -> Item:
    return replace(item, ids=item.ids[~deletion], sentences=item.sentences[~deletion])
