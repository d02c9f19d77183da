"""Attention of a trained model's decoder to the sentences of new documents, and its loss with selected sentences."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from sumpool.bench.results.table import Row
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
from sumpool.progress import Check
from sumpool.runs.run_data import prepared_data_of
from sumpool.training.data_order import TrainingData
from sumpool.training.validation import validate
from sumpool.training.weights import needed_weights, set_weights, weights_of


def validation_attention(loaded: LoadedModel, documents: int) -> Iterator[list[Tensor]]:
    """Attention to sentences in validation summaries, evenly spread.

    Yields for each document, for each layer of the decoder, shares (target, sentences).

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If the cross-attention has no query and key of each word.
    """
    shard = validation_shard(loaded)
    count = min(documents, len(shard))
    config, special_tokens = loaded.recipe.model, loaded.model.special_tokens
    for number in range(count):
        item = shard[number * len(shard) // count]
        batch = collate([item], config.source_length, config.target_length, special_tokens=special_tokens)
        try:
            (layers,) = sentence_attention(loaded.model, batch.to(loaded.device))
        except ValueError as error:
            raise RecipeError(f"bench sparsity: {error}") from error
        yield layers


def selection_losses(loaded: LoadedModel, documents: int, sentences: Sequence[int], check: Check) -> Iterator[Row]:
    """Validation losses where a token sees selected sentences only, selection by selection.

    Yields `selection` and `nats` by number of sentences; full attention first, and last the model's own selection, if
    it has one that learns. The weights of the word attention serve all selections.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If the cross-attention has no query and key of each word.
    """
    selections: dict[str, SelectionConfig] = {
        config.kind: config for config in (IdealSelectionConfig(), RandomSelectionConfig(), ModelFreeSelectionConfig())
    }
    learned = loaded.recipe.model.decoder.cross_attention
    if isinstance(learned, SentenceCrossAttentionConfig):
        selections[learned.selection.kind] = learned.selection
    shard, config = validation_shard(loaded), loaded.recipe.model
    lengths = (config.source_length, config.target_length)
    special_tokens = loaded.model.special_tokens
    data = TrainingData(shard, shard, *lengths, loaded.recipe.seed, special_tokens=special_tokens)
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})

    def loss(cross_attention: CrossAttentionConfig) -> float:
        return validate(_with(loaded, cross_attention), data, settings, loaded.device, check).nats

    yield Row({"selection": "full", "nats": dict.fromkeys(sentences, loss(FullCrossAttentionConfig()))})
    for kind, selection in selections.items():
        configs = {seen: SentenceCrossAttentionConfig(sentences=seen, selection=selection) for seen in sentences}
        yield Row({"selection": kind, "nats": {seen: loss(attention) for seen, attention in configs.items()}})


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


def validation_shard(loaded: LoadedModel) -> Shard:
    """Open the validation documents of a run.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
    """
    prepared = prepared_data_of(loaded.folder, loaded.recipe)
    shard = Shard.open(prepared, "validation")
    if not len(shard):
        raise DataError(f"{prepared / 'validation'} must hold a document with a summary, got none: prepare more data")
    return shard
