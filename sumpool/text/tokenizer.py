"""Tokenizer interface."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.text.sentences import SentenceSplitter


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
    def encode_sentences(self, text: str, splitter: SentenceSplitter) -> list[list[int]]:
        """Encode a document sentence by sentence, without special tokens; a sentence may have no tokens."""

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
