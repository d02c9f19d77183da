"""What a model reads of a document: all of it, its beginning, or its best sentences; and batches of such inputs."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sumpool.data.batches import fill_batches
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.loading import LoadedModel
from sumpool.inference.summary import NO_TEXT
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import EncodedDocument, Tokenizer, join_sentences

MAX_BATCH = 64
"""Documents of a batch at most: more gain no speed and delay the first result."""
_BATCH_SENTENCES = 1024
"""Sentences that are encoded at once: lists of the ids of a book would take ten times the memory of its text."""


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
            selected = _best_sentences(source, indices, scores(), room)
        if selected:  # in the order of the document
            kept = np.isin(source.sentences, selected)
            _, renumbered = np.unique(source.sentences[kept], return_inverse=True)
            best = EncodedDocument(source.ids[kept], renumbered.astype(np.int32))
            part, indices = best.with_special_tokens(special_tokens), tuple(indices[number] for number in selected)
        else:
            part = part.truncate(longest, special_tokens)
    item = Item(document.id, part.ids, part.sentences, None)
    return ModelInput(item, total, indices[: int(part.sentences[-1]) + 1], is_selection=bool(selected))


def _best_sentences(
    source: EncodedDocument, indices: Sequence[int], scores: Mapping[int, float], room: int
) -> list[int]:
    """Return the ascending numbers of the best sentences of prose that fit into some tokens; empty if none fits."""
    sizes = np.bincount(source.sentences, minlength=len(indices))
    ranked = [number for number, index in enumerate(indices) if index in scores]
    ranked.sort(key=lambda number: -scores[indices[number]])
    chosen: list[int] = []
    for number in ranked:
        if sizes[number] <= room:
            chosen.append(number)
            room -= int(sizes[number])
    return sorted(chosen)


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


def encoded_sentences(document: Document, sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences that the model reads.

    These are paragraphs and list items; all sentences in documents without blocks or without prose.
    """
    prose = {index for index, block in enumerate(document.blocks) if block.kind in PROSE_KINDS}
    return [index for index, sentence in enumerate(sentences) if not prose or sentence.block in prose]


def encode_source(
    document: Document, sentences: Sequence[SourceSentence], tokenizer: Tokenizer, splitter: SentenceSplitter
) -> tuple[EncodedDocument, tuple[int, ...]]:
    """Encode the sentences that the model reads.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        tokenizer: The tokenizer of the model.
        splitter: The sentence splitter of the model.

    Returns:
        Tokens without special tokens, whose sentence numbers count the sentences that have tokens; and by sentence
        number the index of the `SourceSentence`.
    """
    readable = encoded_sentences(document, sentences)
    text = document.text
    if document.blocks:
        text = "\n\n".join(document.blocks[block].text for block in dict.fromkeys(sentences[i].block for i in readable))
    parts = tokenizer.split_sentences(text, splitter)
    # both lists hold the same characters in the same order, but for rules and page headers, which no sentence has; a
    # part belongs to the sentence of its last character, or the next one
    spans = [(sentences[index].start, sentences[index].end) for index in readable]
    if not document.blocks:
        spans = [(before[1], span[1]) for before, span in pairwise([(0, 0), *spans])]
    ends = np.cumsum([_characters(document.text[start:end]) for start, end in spans], dtype=np.int64)
    positions = np.searchsorted(ends, np.cumsum([_characters(part) for part in parts], dtype=np.int64), side="left")
    sizes = array("q")

    def encode() -> Iterator[list[int]]:
        for start in range(0, len(parts), _BATCH_SENTENCES):
            batch = tokenizer.encode_batch(parts[start : start + _BATCH_SENTENCES])
            sizes.extend(map(len, batch))
            yield from batch

    encoded = join_sentences(encode(), tokenizer.vocab_size)
    positions = np.minimum(positions[np.frombuffer(sizes, np.int64) > 0], len(readable) - 1)
    return encoded, tuple(readable[position] for position in positions.tolist())


def _characters(text: str) -> int:
    """Count the characters of a text, without white space."""
    return len("".join(text.split()))
