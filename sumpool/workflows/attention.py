"""What the decoder of a trained model attends to in new documents, and what it could do without."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from sumpool.bench.suites.sparsity_rows import LossRow
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.cross_attention.sentence import SentenceCrossAttentionConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.selection._base import SelectionConfig
from sumpool.core.selection.ideal import IdealSelectionConfig
from sumpool.core.selection.model_free import ModelFreeSelectionConfig
from sumpool.core.selection.random import RandomSelectionConfig
from sumpool.data.batches import collate
from sumpool.data.shards import Shard
from sumpool.errors import DataError, RecipeError
from sumpool.inference.loading import LoadedModel
from sumpool.interpret.sentence_attention import sentence_attention
from sumpool.interruption import Check
from sumpool.training.data_order import TrainingData
from sumpool.training.validation import validate
from sumpool.training.weights import needed_weights, set_weights, weights_of


def watch_sentences(loaded: LoadedModel, documents: int) -> Iterator[list[Tensor]]:
    """Read validation summaries, evenly spread, and share out the attention of every layer among sentences.

    Args:
        loaded: The model.
        documents: How many to read, at most.

    Yields:
        For each document, for each layer of the decoder, (target, sentences).

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If the cross-attention has no query and key of each word.
    """
    shard = _validation(loaded)
    taken = min(documents, len(shard))
    config = loaded.recipe.model
    special_tokens = loaded.model.special_tokens
    for place in range(taken):
        item = shard[place * len(shard) // taken]
        batch = collate([item], config.source_length, config.target_length, special_tokens=special_tokens)
        try:
            (layers,) = sentence_attention(loaded.model, batch.to(loaded.device))
        except ValueError as error:
            raise RecipeError(f"bench sparsity: {error}") from error
        yield layers


def compare_selections(
    loaded: LoadedModel, documents: int, sentences: Sequence[int], check: Check
) -> Iterator[LossRow]:
    """Take the loss at validation summaries whose tokens see chosen sentences only, for one selection after the other.

    Args:
        loaded: The model; the weights of its word attention serve all selections.
        documents: How many summaries, at most.
        sentences: Numbers of sentences seen.
        check: Called between batches.

    Yields:
        Full attention first; the model's own selection last, if it has one that learns.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If the cross-attention has no query and key of each word.
    """
    own = loaded.recipe.model.decoder.cross_attention
    selections: dict[str, SelectionConfig] = {
        each.kind: each for each in (IdealSelectionConfig(), RandomSelectionConfig(), ModelFreeSelectionConfig())
    }
    if isinstance(own, SentenceCrossAttentionConfig):
        selections[own.selection.kind] = own.selection
    shard, config = _validation(loaded), loaded.recipe.model
    material = TrainingData(
        shard,
        shard,
        config.source_length,
        config.target_length,
        loaded.recipe.seed,
        special_tokens=loaded.model.special_tokens,
    )
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})

    def lose(cross_attention: CrossAttentionConfig) -> float:
        return validate(_with(loaded, cross_attention), material, settings, loaded.device, check)

    yield LossRow("full", dict.fromkeys(sentences, lose(FullCrossAttentionConfig())))
    for kind, selection in selections.items():
        seen = {each: SentenceCrossAttentionConfig(sentences=each, selection=selection) for each in sentences}
        yield LossRow(kind, {each: lose(cross_attention) for each, cross_attention in seen.items()})


def _with(loaded: LoadedModel, cross_attention: CrossAttentionConfig) -> SummarizationModel:
    """Build the model with another cross-attention and the same weights."""
    config = loaded.recipe.model
    decoder = config.decoder.model_copy(update={"cross_attention": cross_attention})
    with torch.device(loaded.device):
        model = SummarizationModel(
            config.model_copy(update={"decoder": decoder}),
            loaded.model.vocabulary,
            loaded.model.encoder.word_starts,
            loaded.model.special_tokens,
        )
    set_weights(model, needed_weights(model, weights_of(loaded.model)), str(loaded.folder))
    return model


def _validation(loaded: LoadedModel) -> Shard:
    prepared = loaded.recipe.prepared_folder
    shard = Shard.open(prepared, "validation")
    if not len(shard):
        raise DataError(f"{prepared / 'validation'} must hold a document with a summary, got none: prepare more data")
    return shard
