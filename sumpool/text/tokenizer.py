"""Tokenizer interface, the tokenizer of a folder, and encoded documents: token ids, and the sentence of each token.

`encode_document` is the only way from text to ids, in training and in use.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from sumpool.io.manifest import run_folder
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.text.sentences import SentenceSplitter

SENTENCEPIECE_MODEL = "tokenizer.model"
"""File of a learnt tokenizer."""
TOKENIZER_JSON, VOCABULARY_JSON = "tokenizer.json", "vocabulary.json"
"""Files of an imported tokenizer."""
UNITS_JSON = "units.json"
"""File of a tokenizer without merges."""
TOKENIZER_FILES = (SENTENCEPIECE_MODEL, TOKENIZER_JSON, VOCABULARY_JSON, UNITS_JSON)
"""Names of all files of tokenizers."""
Units = Literal["bytes", "characters", "words", "pixels"]
"""Units of a tokenizer without merges."""


class Tokenizer(ABC):
    """Text to token ids and back."""

    @property
    def special_tokens(self) -> SpecialTokens:
        """Ids of the special tokens."""
        return DEFAULT_SPECIAL_TOKENS

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Number of tokens, special tokens included."""

    def encode(self, text: str) -> list[int]:
        """Encode a text without special tokens."""
        return self.encode_batch([text])[0]

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts, each as `encode` does; much faster than one by one."""

    @abstractmethod
    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Split a document into the texts that are encoded one by one, its sentences with the space around them."""

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text; special tokens are skipped.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        ids = [int(token) for token in ids]
        unknown = [token for token in ids if not 0 <= token < self.vocab_size]
        if unknown:
            raise ValueError(f"ids must be from 0 to {self.vocab_size - 1}, got {unknown[0]}")
        return self._decode(ids)

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """Decode ids of the vocabulary."""

    @abstractmethod
    def token_bytes(self) -> list[bytes]:
        """UTF-8 bytes of every token; a token may be part of a character, and special tokens are empty."""

    @abstractmethod
    def word_starts(self) -> list[bool]:
        """Return for every token whether it begins a word."""


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer of a folder, recognised by the name of its file.

    Raises:
        DataError: If there is none, it is damaged, or the library that reads it is not installed.
    """
    # Imported here, as each needs a library of its own.
    path, *_ = tokenizer_files(folder)
    if path.name == SENTENCEPIECE_MODEL:
        from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer

        return SentencePieceTokenizer.load(path)
    if path.name == UNITS_JSON:
        from sumpool.text.units import UnitTokenizer

        return UnitTokenizer.load(folder)
    from sumpool.text.hf_tokenizer import HuggingFaceTokenizer

    return HuggingFaceTokenizer.load(folder)


def tokenizer_files(folder: Path) -> tuple[Path, ...]:
    """Return the paths of the tokenizer's files in a folder; of a learnt one's where there is none."""
    folder = run_folder(folder)
    if (folder / TOKENIZER_JSON).is_file():
        return folder / TOKENIZER_JSON, folder / VOCABULARY_JSON
    return (folder / (UNITS_JSON if (folder / UNITS_JSON).is_file() else SENTENCEPIECE_MODEL),)


def same_tokenizer(folder: Path, other: Path) -> bool:
    """Return whether two folders contain the same tokenizer, byte for byte."""
    first, second = (
        [path.read_bytes() if path.is_file() else None for path in tokenizer_files(each)] for each in (folder, other)
    )
    return first == second


@dataclass(frozen=True)
class EncodedDocument:
    """Token ids of a document, of any length, with or without the special tokens around it.

    Attributes:
        ids: (length,), uint16 where the vocabulary fits, otherwise int32.
        sentences: (length,) int32, index of each token's sentence, from 0, never decreasing.
    """

    ids: npt.NDArray[np.uint16] | npt.NDArray[np.int32]
    sentences: npt.NDArray[np.int32]

    def truncate(self, length: int, special_tokens: SpecialTokens) -> "EncodedDocument":
        """Truncate to a length of at least 1; a document that ends with the suffix, or with EOS, still does."""
        if len(self.ids) <= length:
            return self
        ids, sentences = self.ids[:length].copy(), self.sentences[:length].copy()
        suffix = special_tokens.suffix or (special_tokens.eos,)
        if self.ids[-len(suffix) :].tolist() == list(suffix):
            kept = suffix[-length:]
            ids[-len(kept) :] = kept
            sentences[-len(kept) :] = sentences[max(length - len(kept) - 1, 0)]
        return EncodedDocument(ids, sentences)

    def with_special_tokens(self, special_tokens: SpecialTokens) -> "EncodedDocument":
        """Add prefix and suffix, as parts of the first and the last sentence; an empty document stays empty."""
        if not len(self.ids):
            return self
        prefix, suffix = (np.array(ids, self.ids.dtype) for ids in (special_tokens.prefix, special_tokens.suffix))
        return EncodedDocument(
            np.concatenate([prefix, self.ids, suffix]),
            np.pad(self.sentences, (len(prefix), len(suffix)), mode="edge"),
        )


def encode_document(text: str, tokenizer: Tokenizer, splitter: SentenceSplitter) -> EncodedDocument:
    """Encode a document sentence by sentence, with the special tokens that its model expects around it."""
    sentences = tokenizer.encode_batch(tokenizer.split_sentences(text, splitter))  # some may have no tokens
    document = join_sentences(sentences, tokenizer.vocab_size)
    return document.with_special_tokens(tokenizer.special_tokens)


def join_sentences(encoded: Iterable[Sequence[int]], vocab_size: int) -> EncodedDocument:
    """Join encoded sentences; one of characters that normalisation drops has no tokens, and takes no number."""
    joined, lengths = array("i"), array("q")
    for ids in filter(None, encoded):
        joined.extend(ids)
        lengths.append(len(ids))
    return EncodedDocument(
        ids=np.frombuffer(joined, np.int32).astype(id_dtype(vocab_size)),
        sentences=np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int64)),
    )


def id_dtype(vocab_size: int) -> npt.DTypeLike:
    """Return the smaller of the two types of stored ids that holds a vocabulary."""
    return np.uint16 if vocab_size <= np.iinfo(np.uint16).max + 1 else np.int32
