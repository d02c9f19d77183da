"""What a model reads of a document: all of it, its beginning, or its best sentences; and batches of such inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sumpool.data.batches import fill_batches
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.loading import LoadedModel
from sumpool.inference.summary import NO_TEXT
from sumpool.ranking.content_selection import best_sentences, encode_source, keep_sentences

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
        """Note on what is read of a document that is longer than the input; empty if the ranker has read all."""
        read, whole = self.tokens_read, self.tokens_total
        if not 0 < read < whole or self.is_selection:
            return ""
        return f"read {read:,} of {whole:,} tokens ({read / whole:.0%})"


def read_input(
    loaded: LoadedModel,
    document: Document,
    sentences: Sequence[SourceSentence],
    scores: Callable[[], Mapping[int, float]],
) -> ModelInput:
    """Tokenize a document for a model, and cut it by `summarize.on_overflow` if it is too long.

    Args:
        loaded: The model, with its settings.
        document: The document.
        sentences: Its sentences.
        scores: Returns the score of each sentence of prose by its index; called if the best are selected.
    """
    special_tokens, longest = loaded.tokenizer.special_tokens, loaded.recipe.model.source_length
    on_overflow = loaded.recipe.summarize.on_overflow
    source, indices = encode_source(document, sentences, loaded.tokenizer, loaded.splitter)
    part = source.with_special_tokens(special_tokens)
    total = len(part.ids)
    if not total:
        return ModelInput(None, 0, reason=NO_TEXT)
    selected: list[int] = []
    if total > longest:
        if on_overflow == "error":
            reason = f"the document must have at most {longest:,} tokens, got {total:,}; take select for what is longer"
            return ModelInput(None, total, reason=reason)
        if on_overflow == "select":
            room = max(1, longest - len(special_tokens.prefix) - len(special_tokens.suffix))
            selected = best_sentences(source, indices, scores(), room)
        if selected:  # in the order of the document
            part = keep_sentences(source, selected).with_special_tokens(special_tokens)
            indices = tuple(indices[number] for number in selected)
        else:
            part = part.truncate(longest, special_tokens)
    item = Item(document.id, part.ids, part.sentences, None)
    return ModelInput(item, total, indices[: int(part.sentences[-1]) + 1], is_selection=bool(selected))


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
