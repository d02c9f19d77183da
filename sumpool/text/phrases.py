"""Phrases: frequent sequences of tokens, found by a SentencePiece unigram model over token ids.

Every id is written as one character and every sentence as one line, so that phrases consist of whole tokens and never
cross sentences. Phrases supervise learned boundaries (`sumpool.core.boundaries.unigram`) during training; a trained
model does not need them.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import final

import numpy as np

from sumpool.text.cleaning import reservoir_sample
from sumpool.text.sentencepiece_tokenizer import SentencePieceModel, train_unigram

PHRASES = "phrases.model"
"""File of prepared data."""
_SAMPLE_LINES = 100_000
_MAX_LINE_TOKENS = 1000
_MAX_PHRASE_TOKENS = 16
_FIRST_CHARACTER = 0x2600
"""Character of id 0. From here up to the surrogates SentencePiece treats no character specially; beyond 16 bits version
0.2.3 finds hardly any phrase."""
_CHARACTERS = 0xD800 - _FIRST_CHARACTER
"""Number of characters; the rarest tokens of a larger vocabulary share the last one."""
_CHARACTER_BYTES = 3
"""Bytes of each character in UTF-8."""
_SETTINGS = {
    "character_coverage": 1.0,
    "normalization_rule_name": "identity",
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "split_by_whitespace": False,
    "split_by_unicode_script": False,
    "split_by_number": False,
    "max_sentencepiece_length": _MAX_PHRASE_TOKENS,
    "max_sentence_length": _CHARACTER_BYTES * _MAX_LINE_TOKENS,
    "bos_id": -1,
    "eos_id": -1,
}


@final
class Phrases(SentencePieceModel):
    """Trained phrase model."""

    @classmethod
    def train(
        cls, documents: Iterable[tuple[np.ndarray, np.ndarray]], path: Path, vocabulary: int, workers: int = 1
    ) -> "Phrases":
        """Train phrases and write the model file.

        The same documents and number of workers give the same file. Long streams are sampled, so memory is bounded.

        Args:
            documents: Ids (length,) and sentence indices (length,) of each document, read once.
            path: File to write.
            vocabulary: Number of phrases, single tokens included; short documents give fewer.
            workers: Threads.

        Raises:
            DataError: If there is no token, or more different tokens than phrases.
        """
        lines = reservoir_sample(_training_lines(documents), _SAMPLE_LINES)
        rule = "data.phrases must hold every token of the training documents"
        path.write_bytes(train_unigram(lines, vocabulary, workers, _SETTINGS, rule))
        return cls.load(path)

    def indices(self, ids: np.ndarray, sentences: np.ndarray) -> np.ndarray:
        """Split a document into phrases.

        Consecutive tokens that no training document contains are one phrase.

        Args:
            ids: (length,).
            sentences: (length,), sentence index of each token.

        Returns:
            (length,) int32, phrase index of each token, from 0.
        """
        lines = _lines(ids, sentences)  # one by one, as a list of lines would start threads
        lengths = [len(phrase) for line in lines for phrase in self._processor.encode(line, out_type=str)]
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def _training_lines(documents: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[str]:
    for ids, sentences in documents:
        for line in _lines(ids, sentences):
            for start in range(0, len(line), _MAX_LINE_TOKENS):
                yield line[start : start + _MAX_LINE_TOKENS]


def _lines(ids: np.ndarray, sentences: np.ndarray) -> list[str]:
    """Write each sentence with one character per token."""
    characters = np.minimum(ids.astype("<u4"), _CHARACTERS - 1) + np.array(_FIRST_CHARACTER, "<u4")
    text = characters.tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(sentences)) + 1).tolist(), len(text)]
    return [text[start:stop] for start, stop in pairwise(starts) if stop > start]
