"""Text to vocabulary pieces and back, whatever the pieces are: what every tokenizer does, and which one a folder holds.

The file in a folder says what it is: `tokenizer.model` is SentencePiece, learnt here; `tokenizer.json` is byte-level
BPE, taken over from another model. Both begin with the pieces of `sumpool.special_tokens`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sumpool.special_tokens import SpecialTokens
from sumpool.text.sentences import SentenceSplitter

SENTENCE_PIECES = "tokenizer.model"
BYTE_PAIRS = "tokenizer.json"
TOKENIZERS = (SENTENCE_PIECES, BYTE_PAIRS)
"""Names of the files, of which a folder holds one."""


class Frame(NamedTuple):
    """Pieces that stand around a text.

    Attributes:
        first: Before a document, and before a summary.
        last: After a document; what ends a summary is END, framed or not.
    """

    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


class Tokenizer(ABC):
    """A vocabulary."""

    @property
    def frame(self) -> Frame:
        """What the model expects around a text; nothing, unless it was trained elsewhere."""
        return Frame()

    @property
    def special_tokens(self) -> SpecialTokens:
        """Ids of the special tokens."""
        return SpecialTokens()

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """Number of pieces."""

    def encode(self, text: str) -> list[int]:
        """Spell a text in pieces, without a frame."""
        return self.encode_all([text])[0]

    @abstractmethod
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Spell many texts, each as `encode` does; much faster than one by one."""

    @abstractmethod
    def encode_sentences(self, text: str, splitter: SentenceSplitter) -> list[list[int]]:
        """Spell a document sentence by sentence, without a frame; a sentence may have no pieces."""

    def decode(self, ids: Sequence[int]) -> str:
        """Put pieces together again; those that spell nothing, such as PAD, BEGIN, END and the frame, are silent.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        ids = [int(piece) for piece in ids]
        wrong = [piece for piece in ids if not 0 <= piece < self.vocabulary]
        if wrong:
            raise ValueError(f"ids must be from 0 to {self.vocabulary - 1}, got {wrong[0]}")
        return self._decode(ids)

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """Put pieces of the vocabulary together again."""

    @abstractmethod
    def surfaces(self) -> list[bytes]:
        """Give what every piece spells, in UTF-8; a piece need not hold whole characters, and may spell nothing."""

    @abstractmethod
    def word_starts(self) -> list[bool]:
        """Say of every id whether its piece begins a word."""


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a folder, of whichever kind.

    Raises:
        DataError: If there is none, it is damaged, or a library that reads it is not installed.
    """
    path = tokenizer_file(folder)
    if path.name == BYTE_PAIRS:
        from sumpool.text.byte_pairs import BytePairs  # here, because both kinds are built on this module

        return BytePairs.load(path)
    from sumpool.text.sentence_pieces import SentencePieces

    return SentencePieces.load(path)


def tokenizer_file(folder: Path) -> Path:
    """Say where the tokenizer of a folder is, or would be if one were learnt."""
    return next((path for name in TOKENIZERS if (path := folder / name).is_file()), folder / SENTENCE_PIECES)
