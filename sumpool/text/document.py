"""A document as the model reads it: piece ids, and the sentence that each piece belongs to.

`encode_document` is the only way from text to ids, for training and for use, so that both see the same.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Frame, Tokenizer


@dataclass(frozen=True)
class EncodedDocument:
    """The pieces of a text, of any length, with or without the frame of its tokenizer.

    Attributes:
        ids: (length,), uint16 where the vocabulary fits, otherwise int32.
        sentences: (length,) int32, number of each piece's sentence, from 0, never decreasing.
    """

    ids: npt.NDArray[np.uint16] | npt.NDArray[np.int32]
    sentences: npt.NDArray[np.int32]

    def part(self, start: int, end: int) -> "EncodedDocument":
        """Give the pieces from `start` up to and without `end`, with their sentences numbered from 0."""
        return EncodedDocument(self.ids[start:end], self.sentences[start:end] - self.sentences[start])

    def cut(self, length: int, eos: int) -> "EncodedDocument":
        """Truncate to a length of at least 1; a document that ends with `eos` still does."""
        if len(self.ids) <= length:
            return self
        ids, sentences = self.ids[:length].copy(), self.sentences[:length].copy()
        if self.ids[-1] == eos:
            ids[-1] = eos
            sentences[-1] = sentences[max(length - 2, 0)]
        return EncodedDocument(ids, sentences)

    def framed(self, frame: Frame) -> "EncodedDocument":
        """Put a frame around the pieces, which belongs to the first and the last sentence; nothing has no frame."""
        if not len(self.ids):
            return self
        first, last = (np.array(pieces, self.ids.dtype) for pieces in frame)
        sizes = len(first), len(last)
        return EncodedDocument(
            np.concatenate([first, self.ids, last]),
            np.pad(self.sentences, sizes, mode="edge"),
        )


def encode_document(text: str, tokenizer: Tokenizer, splitter: SentenceSplitter) -> EncodedDocument:
    """Spell a document as a model reads it: sentence by sentence, within the tokenizer's frame."""
    return spell_document(text, tokenizer, splitter).framed(tokenizer.frame)


def spell_document(text: str, tokenizer: Tokenizer, splitter: SentenceSplitter) -> EncodedDocument:
    """Spell a document sentence by sentence, without a frame."""
    # A sentence of characters that normalisation drops has no pieces, and takes no number.
    spelt = [ids for ids in tokenizer.encode_sentences(text, splitter) if ids]
    lengths = [len(ids) for ids in spelt]
    return EncodedDocument(
        ids=np.fromiter(chain.from_iterable(spelt), id_type(tokenizer.vocabulary), sum(lengths)),
        sentences=np.repeat(np.arange(len(spelt), dtype=np.int32), lengths),
    )


def id_type(vocabulary: int) -> npt.DTypeLike:
    """Give the smallest of the two types that ids of a vocabulary are stored in."""
    return np.uint16 if vocabulary <= np.iinfo(np.uint16).max + 1 else np.int32
