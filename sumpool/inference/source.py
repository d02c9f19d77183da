"""Encoding of a document by its sentences.

The model reads the prose of a document with blocks, and all the text of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from sumpool.documents.document import Document, TextBlockKind
from sumpool.documents.source_sentences import SourceSentence, is_prose
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import EncodedDocument, Tokenizer, join_sentences


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

    These are paragraphs and list items of prose; all sentences in documents without blocks or without prose.
    """
    prose = {index for index, block in enumerate(document.blocks) if _is_encoded(block.kind, block.text)}
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
    encoded = tokenizer.encode_batch(parts)
    # both lists hold the same characters in the same order; a part belongs to the sentence of its last character
    ends = np.array(list(accumulate(_characters(sentences[index].text) for index in readable)), dtype=np.int64)
    places = np.searchsorted(ends, list(accumulate(map(_characters, parts))), side="left")
    indices = [readable[min(place, len(readable) - 1)] for place in places.tolist()]
    with_tokens = tuple(index for index, ids in zip(indices, encoded, strict=True) if ids)
    return EncodedSource(join_sentences(encoded, tokenizer.vocab_size), with_tokens)


def _characters(text: str) -> int:
    """Count the characters of a text, without white space."""
    return len("".join(text.split()))


def _is_encoded(kind: TextBlockKind, text: str) -> bool:
    return kind == "paragraph" or (kind == "list_item" and is_prose(text))
