"""Unigram subwords of words (Kudo, 2018), which teach boundaries to character-level language models.

As Nawrot et al. (2023) do, a text is split at spaces and each word is divided by a SentencePiece unigram model. A
boundary is the last character of each subword inside a word, and the space behind a word.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, final

import numpy as np

from sumpool.text.cleaning import cut_at_spaces, reservoir_sample
from sumpool.text.sentencepiece_tokenizer import SentencePieceModel, train_unigram

_SAMPLE_LINES: Final = 100_000
_MAX_LINE_CHARACTERS: Final = 1000
_CHARACTER_BYTES: Final = 4
_MAX_SUBWORD: Final = 16
_CACHED_WORDS: Final = 1 << 18
"""Words whose division is kept, with about 100 bytes for each."""
_SPACES: Final = " \n"
_WORD_START: Final = "▁"
_SETTINGS: Final = {
    "character_coverage": 1.0,
    "normalization_rule_name": "identity",
    "max_sentencepiece_length": _MAX_SUBWORD,
    "max_sentence_length": _CHARACTER_BYTES * _MAX_LINE_CHARACTERS,
    "bos_id": -1,
    "eos_id": -1,
}


@final
class WordSubwords(SentencePieceModel):
    """Trained model of subwords."""

    def __init__(self, model: bytes) -> None:
        """Wrap a serialised model; `load` and `train` are the usual ways to get one."""
        super().__init__(model)
        self._inner: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts: Iterable[str], path: Path, vocabulary: int, workers: int = 1) -> "WordSubwords":
        """Train a model and write its file, with the settings of the released code: no normalization, all characters.

        The same texts and number of workers give the same file. Long streams are sampled, so memory is bounded.

        Args:
            texts: Parts of the text, read once.
            path: File to write.
            vocabulary: Number of subwords; short texts give fewer.
            workers: Threads.

        Raises:
            DataError: If there is no text, or it has more different characters than subwords.
        """
        lines = reservoir_sample(_lines(texts), _SAMPLE_LINES)
        rule = "data.subwords must hold every character of the training text"
        path.write_bytes(train_unigram(lines, vocabulary, workers, _SETTINGS, rule))
        return cls.load(path)

    def boundaries(self, text: str) -> np.ndarray:
        """Return which characters end a segment: (characters,) bool.

        Args:
            text: Text that begins with a whole word, or with white space.
        """
        is_boundary = np.zeros(len(text), bool)
        start = 0
        spaces = [index for index, character in enumerate(text) if character in _SPACES]
        for stop in [*spaces, len(text)]:
            if stop > start:
                is_boundary[[start + index for index in self._inner_ends(text[start:stop])]] = True
            is_boundary[stop : stop + 1] = True
            start = stop + 1
        return is_boundary

    def _inner_ends(self, word: str) -> list[int]:
        """Return the last characters of all subwords of a word but the last one."""
        ends = self._inner.get(word)
        if ends is None:
            ends, length = [], 0
            for subword in self._processor.encode(word, out_type=str)[:-1]:
                length += len(subword.removeprefix(_WORD_START) if not length else subword)
                if length:
                    ends.append(length - 1)
            if len(self._inner) >= _CACHED_WORDS:
                self._inner.clear()
            self._inner[word] = ends
        return ends


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Divide a text into lines at spaces; a longer word is cut."""
    rest = ""
    for text in texts:
        *lines, rest = cut_at_spaces(rest + text.replace("\n", " "), _MAX_LINE_CHARACTERS)
        yield from filter(None, map(str.strip, lines))
    if rest.strip():
        yield rest.strip()
