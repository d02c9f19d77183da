"""What the decoder of a trained model attends to in documents that it was not trained on."""

from collections.abc import Iterator

from torch import Tensor

from sumpool.data.batches import collate
from sumpool.data.shards import Shard
from sumpool.errors import DataError, RecipeError
from sumpool.interpret.sentence_attention import sentence_attention
from sumpool.workflows.loading import LoadedModel
from sumpool.workflows.prepare import prepared_folder


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
    prepared = prepared_folder(loaded.recipe)
    shard = Shard.open(prepared, "validation")
    taken = min(documents, len(shard))
    if not taken:
        raise DataError(f"{prepared / 'validation'} must hold a document with a summary, got none: prepare more data")
    config = loaded.recipe.model
    for place in range(taken):
        batch = collate([shard[place * len(shard) // taken]], config.source_length, config.target_length)
        try:
            (layers,) = sentence_attention(loaded.model, batch.to(loaded.device))
        except ValueError as error:
            raise RecipeError(f"bench sparsity: {error}") from error
        yield layers
