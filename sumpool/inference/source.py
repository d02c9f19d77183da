"""Encoding of a document by its sentences.

The model reads the prose of a document with blocks, and all the text of others.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import EncodedDocument, Tokenizer, join_sentences

_BATCH_SENTENCES = 1024
"""Sentences that are encoded at once: lists of the ids of a book would take ten times the memory of its text."""


@dataclass(frozen=True)
class EncodedSource:
    """Tokens of a document, and the sentence that each token belongs to.

    Attributes:
        document: Tokens without special tokens; its sentence numbers count the sentences that have tokens.
        indices: By sentence number, the index of the `SourceSentence`.
    """

    document: EncodedDocument
    indices: tuple[int, ...]


def encoded_sentences(document: Document, sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences that the model reads.

    These are paragraphs and list items; all sentences in documents without blocks or without prose.
    """
    prose = {index for index, block in enumerate(document.blocks) if block.kind in PROSE_KINDS}
    return [index for index, sentence in enumerate(sentences) if not prose or sentence.block in prose]


def encode_source(
    document: Document, sentences: Sequence[SourceSentence], tokenizer: Tokenizer, splitter: SentenceSplitter
) -> EncodedSource:
    """Encode the sentences that the model reads.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        tokenizer: The tokenizer of the model.
        splitter: The sentence splitter of the model.
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
    encoded = join_sentences(_encoded(parts, tokenizer, sizes), tokenizer.vocab_size)
    positions = np.minimum(positions[np.frombuffer(sizes, np.int64) > 0], len(readable) - 1)
    return EncodedSource(encoded, tuple(readable[position] for position in positions.tolist()))


def _encoded(parts: Sequence[str], tokenizer: Tokenizer, sizes: "array[int]") -> Iterator[list[int]]:
    """Encode texts, and append the number of tokens of each."""
    for start in range(0, len(parts), _BATCH_SENTENCES):
        encoded = tokenizer.encode_batch(parts[start : start + _BATCH_SENTENCES])
        sizes.extend(map(len, encoded))
        yield from encoded


def _characters(text: str) -> int:
    """Count the characters of a text, without white space."""
    return len("".join(text.split()))
