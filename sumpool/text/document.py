"""A document as the model reads it: piece ids, and the sentence that each piece belongs to.

`encode_document` is the only way from text to ids, for training and for use, so that both see the same.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class EncodedDocument:
    """The pieces of a text, of any length.

    Attributes:
        ids: (length,), uint16 where the vocabulary fits, otherwise int32.
        sentences: (length,) int32, number of each piece's sentence, from 0, never decreasing.
    """

    ids: npt.NDArray[np.uint16] | npt.NDArray[np.int32]
    sentences: npt.NDArray[np.int32]


def encode_document(text: str, tokenizer: Tokenizer, splitter: SentenceSplitter) -> EncodedDocument:
    """Spell a document sentence by sentence, within the tokenizer's frame; nothing has no frame."""
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
