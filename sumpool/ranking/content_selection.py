"""Content selection: a document that is longer than the input of a model is reduced to its best sentences, in order.

At inference they are those that the sentence ranker prefers (`summarize.on_overflow: select`), and the setting
`data.content_selection` prepares data in the same way. It stands where Manakul and Gales (2021) have their multitask
content selection (MCS), a hierarchical network. As there, sentences of training documents may be those that have most
of their reference. Departure from the released code: sentences fit as a whole, where there the last one is cut.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.io.manifest import SHIPPED
from sumpool.settings import Settings
from sumpool.special_tokens import SpecialTokens
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import EncodedDocument, Tokenizer, join_sentences

_BATCH_SENTENCES = 1024
"""Sentences that are encoded at once: lists of the ids of a book would take ten times the memory of its text."""


class ContentSelectionConfig(Settings):
    """Reduction of documents that are longer than the input of a model to their best sentences."""

    tokens: int = Field(ge=16, le=10_000_000)
    """Tokens that a document keeps at most, those of `model.source_length`."""
    ranker: Path | None = None
    """Run folder whose sentence ranker chooses the sentences; null takes the shipped one."""
    training: Literal["reference", "ranker"] = "reference"
    """Choice of the sentences of training documents: the pairs of words that the reference has too (ROUGE-2 recall), at
    random where it has none, as published; or the ranker, as for validation and test."""

    @property
    def ranker_folder(self) -> Path:
        """Folder of the ranker."""
        return self.ranker or SHIPPED


def best_sentences(
    source: EncodedDocument,
    indices: Sequence[int],
    scores: Mapping[int, float],
    length: int,
    special_tokens: SpecialTokens,
) -> tuple[list[int], EncodedDocument]:
    """Return the ascending numbers of the best sentences of prose that fit into a length, and the document of them.

    Args:
        source: Document without special tokens, see `encode_source`.
        indices: Index of each of its sentences among all.
        scores: Score of each sentence that may be chosen, by its index.
        length: Tokens of the document, special tokens included.
        special_tokens: Those of the tokenizer.
    """
    room = length - len(special_tokens.prefix) - len(special_tokens.suffix)
    sizes = np.bincount(source.sentences, minlength=len(indices))
    ranked = [number for number, index in enumerate(indices) if index in scores]
    ranked.sort(key=lambda number: -scores[indices[number]])
    chosen: list[int] = []
    for number in ranked:
        if sizes[number] <= room:
            chosen.append(number)
            room -= int(sizes[number])
    kept = np.isin(source.sentences, chosen)
    _, renumbered = np.unique(source.sentences[kept], return_inverse=True)
    part = EncodedDocument(source.ids[kept], renumbered.astype(np.int32))
    return sorted(chosen), part.with_special_tokens(special_tokens)


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
    # Paragraphs and list items; all sentences in documents without blocks or without prose.
    prose = {index for index, block in enumerate(document.blocks) if block.kind in PROSE_KINDS}
    readable = [index for index, sentence in enumerate(sentences) if not prose or sentence.block in prose]
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
