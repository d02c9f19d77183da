"""What a model reads of a document: all of it, its beginning, or its best sentences; and batches of such inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sumpool.data.batches import fill_batches
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.loading import LoadedModel
from sumpool.inference.source import EncodedSource, encode_source
from sumpool.inference.summary import NO_TEXT
from sumpool.text.tokenizer import EncodedDocument

MAX_BATCH = 64
"""Documents of a batch at most: more gain no speed and delay the first result."""


@dataclass(frozen=True)
class ModelInput:
    """What a model reads of a document, or the reason why it cannot.

    Attributes:
        item: Tokens, at most as many as the model reads; None if there is a reason.
        tokens_total: Tokens of the document.
        indices: The index of the `SourceSentence` of each sentence number of the item.
        reason: Why there is no item; empty otherwise.
        is_selection: Whether the item holds the best sentences of a document that the ranker has read to its end.
    """

    item: Item | None
    tokens_total: int
    indices: tuple[int, ...] = ()
    reason: str = ""
    is_selection: bool = False

    @property
    def tokens_read(self) -> int:
        """Tokens that the model reads."""
        return len(self.item.ids) if self.item else 0

    @property
    def note(self) -> str:
        """Note on what the model reads of a document that is longer than its input; empty if it reads all."""
        read, whole = self.tokens_read, self.tokens_total
        if not 0 < read < whole:
            return ""
        if self.is_selection:
            return f"all {whole:,} tokens ranked, the best {read:,} ({read / whole:.0%}) read by the model"
        return f"read {read:,} of {whole:,} tokens ({read / whole:.0%})"


@final
class InputEncoder:
    """Encodes documents for a model, by its settings."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._tokenizer = loaded.tokenizer
        self._splitter = loaded.splitter
        self._longest = loaded.recipe.model.source_length
        self._on_overflow = loaded.recipe.summarize.on_overflow

    def encode(
        self, document: Document, sentences: Sequence[SourceSentence], scores: Callable[[], Mapping[int, float]]
    ) -> ModelInput:
        """Tokenize a document, and cut it by `summarize.on_overflow` if it is too long.

        Args:
            document: The document.
            sentences: Its sentences.
            scores: Returns the score of each sentence of prose by its index; called if the best are selected.
        """
        special_tokens, longest = self._tokenizer.special_tokens, self._longest
        source = encode_source(document, sentences, self._tokenizer, self._splitter)
        whole = source.document.with_special_tokens(special_tokens)
        total = len(whole.ids)
        if not total:
            return ModelInput(None, 0, reason=NO_TEXT)
        if total > longest and self._on_overflow == "error":
            reason = f"the document must have at most {longest:,} tokens, got {total:,}; take select for what is longer"
            return ModelInput(None, total, reason=reason)
        selected = None
        if total > longest and self._on_overflow == "select":
            room = max(1, longest - len(special_tokens.prefix) - len(special_tokens.suffix))
            selected = best_sentences(source, scores(), room)
        if selected:
            part, indices = selected[0].with_special_tokens(special_tokens), selected[1]
        else:
            part, indices = whole.truncate(longest, special_tokens), source.indices
        item = Item(document.id, part.ids, part.sentences, None)
        return ModelInput(item, total, indices[: int(part.sentences[-1]) + 1], is_selection=selected is not None)


def best_sentences(
    source: EncodedSource, scores: Mapping[int, float], length: int
) -> tuple[EncodedDocument, tuple[int, ...]] | None:
    """Select the best sentences of prose, in the order of the document.

    Args:
        source: Tokens of the document, without special tokens.
        scores: Score of each sentence of prose, by its index.
        length: Tokens of the selection at most.

    Returns:
        The tokens, and by sentence number the index of each sentence; None where no sentence fits.
    """
    ids, numbers = source.document.ids, source.document.sentences
    sizes = np.bincount(numbers, minlength=len(source.indices))
    ranked = [number for number, index in enumerate(source.indices) if index in scores]
    ranked.sort(key=lambda number: -scores[source.indices[number]])
    chosen: list[int] = []
    room = length
    for number in ranked:
        if sizes[number] <= room:
            chosen.append(number)
            room -= int(sizes[number])
    if not chosen:
        return None
    kept = np.isin(numbers, chosen)
    _, renumbered = np.unique(numbers[kept], return_inverse=True)
    indices = tuple(source.indices[number] for number in sorted(chosen))
    return EncodedDocument(ids[kept], renumbered.astype(np.int32)), indices


def batch_inputs(lengths: Sequence[int], batch_tokens: int, most: int = MAX_BATCH) -> list[list[int]]:
    """Batch inputs of similar length within a budget of tokens, padding included.

    Args:
        lengths: Tokens of each input.
        batch_tokens: Tokens of a batch at most; a longer input is a batch of its own.
        most: Inputs of a batch at most.

    Returns:
        Indices of the inputs of each batch; the batch with the earliest input comes first.
    """
    shortest_first = sorted(range(len(lengths)), key=lengths.__getitem__)
    return sorted(fill_batches(shortest_first, lengths, batch_tokens, most), key=min)
