"""Tokenizers without merges: bytes, characters, words, or pixels of grey scale.

The inputs of the Long Range Arena: bytes of reviews, symbols of expressions, pixels of images. The vocabulary begins
with the tokens of `sumpool.special_tokens`. A whole text is one sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, final

from pydantic import ValidationError

from sumpool.errors import DataError
from sumpool.io.bounded import read_regular
from sumpool.settings import Settings, first_problem
from sumpool.special_tokens import PARAGRAPH, UNK
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import UNITS_JSON, Tokenizer, Units

_SPECIAL = PARAGRAPH + 1
_VALUES: Final = 256
"""Bytes, and shades of grey."""


class UnitVocabulary(Settings):
    """Content of `units.json`."""

    units: Units
    """Units that texts are divided into."""
    tokens: tuple[str, ...] = ()
    """Characters or words with an id of their own; empty for bytes and pixels."""


@final
class UnitTokenizer(Tokenizer):
    """Tokenizer that divides a text into units."""

    def __init__(self, vocabulary: UnitVocabulary) -> None:
        """Use a vocabulary; `load` and `train` are the usual ways to get a tokenizer."""
        self.units = vocabulary.units
        self._tokens = vocabulary.tokens
        self._ids = {token: id for id, token in enumerate(vocabulary.tokens, _SPECIAL)}

    @classmethod
    def load(cls, folder: Path) -> "UnitTokenizer":
        """Read the vocabulary of a folder.

        Raises:
            DataError: If the file is missing or damaged.
        """
        path = folder / UNITS_JSON
        try:
            return cls(UnitVocabulary.model_validate_json(read_regular(path)))
        except OSError as error:
            problem = str(error.strerror)
        except ValidationError as error:
            problem = first_problem(error)
        raise DataError(f"{path} must be a vocabulary of units, got: {problem}; prepare the data again")

    @classmethod
    def train(cls, texts: Iterable[str], folder: Path, units: Units, vocab_size: int) -> "UnitTokenizer":
        """Choose the most frequent characters or words, and write the vocabulary; bytes and pixels are all in it.

        Args:
            texts: Documents, read once.
            folder: Folder of the file.
            units: Units.
            vocab_size: Maximum number of tokens, special tokens included.
        """
        tokens: tuple[str, ...] = ()
        if units in ("characters", "words"):
            counts = Counter(chain.from_iterable(_split(text, units) for text in texts))
            frequent = sorted(counts, key=lambda token: (-counts[token], token))[: vocab_size - _SPECIAL]
            tokens = tuple(sorted(frequent))
        vocabulary = UnitVocabulary(units=units, tokens=tokens)
        (folder / UNITS_JSON).write_text(vocabulary.model_dump_json() + "\n", "utf-8")
        return cls.load(folder)

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special tokens included."""
        return _SPECIAL + (len(self._tokens) if self.units in ("characters", "words") else _VALUES)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts; characters and words without an id become UNK.

        Raises:
            DataError: If a text of pixels has other words than numbers from 0 to 255.
        """
        if self.units == "bytes":
            return [[_SPECIAL + byte for byte in text.encode()] for text in texts]
        if self.units == "pixels":
            return [[_SPECIAL + _shade(word) for word in text.split()] for text in texts]
        return [[self._ids.get(token, UNK) for token in _split(text, self.units)] for text in texts]

    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Return the text as its only sentence."""
        del splitter
        return [text]

    def _decode(self, ids: list[int]) -> str:
        tokens = self.token_bytes()
        separator = b"" if self.units in ("bytes", "characters") else b" "
        return separator.join(tokens[id] for id in ids if tokens[id]).decode(errors="replace")

    def token_bytes(self) -> list[bytes]:
        """UTF-8 bytes of every token; special tokens are empty."""
        if self.units == "bytes":
            units = [bytes([byte]) for byte in range(_VALUES)]
        elif self.units == "pixels":
            units = [str(shade).encode() for shade in range(_VALUES)]
        else:
            units = [token.encode() for token in self._tokens]
        return [b""] * _SPECIAL + units

    def word_starts(self) -> list[bool]:
        """Return for every token whether it begins a word: white space does, and every word and pixel."""
        is_part = self.units in ("bytes", "characters")
        return [not is_part or token.isspace() for token in self.token_bytes()]


def _split(text: str, units: Units) -> Iterable[str]:
    return text.split() if units == "words" else text


def _shade(word: str) -> int:
    if word.isascii() and word.isdigit() and int(word[:4]) < _VALUES:
        return int(word)
    raise DataError(
        f"a text of pixels must have numbers from 0 to 255 with spaces between them, got {word[:20]!r}; correct the "
        "row, or set data.units to other units"
    )
