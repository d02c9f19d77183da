"""Phrases: what often follows what, as a SentencePiece unigram model over token ids instead of characters.

Every id is spelt as one character, and a sentence of a document is a line, so that the model cuts the vocabulary's own
pieces into phrases, and never across sentences. It teaches boundaries (`sumpool.core.boundaries.unigram`); a trained
model does not need it.
"""

import io
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import final

import numpy as np
import sentencepiece

from sumpool.errors import DataError
from sumpool.text._sampling import sample

_SAMPLE_LINES = 100_000
_LONGEST_LINE = 1000
_LONGEST_PHRASE = 16
_FIRST = 0x2600
"""The character of id 0; from here up to the surrogates Unicode has nothing that SentencePiece treats in its own way,
and beyond 16 bits version 0.2.3 finds hardly any phrase."""
_CHARACTERS = 0xD800 - _FIRST
"""Ids with a character of their own; those of the rarest pieces of a larger vocabulary share the last."""
_BYTES = 3
"""Bytes of each character in UTF-8."""


@final
class Phrases:
    """A trained model of phrases."""

    def __init__(self, model: bytes) -> None:
        """Use a serialised SentencePiece model; `load` and `train` are the usual ways to get one."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, path: Path) -> "Phrases":
        """Read a model file.

        Raises:
            DataError: If the file is missing or is no SentencePiece model.
        """
        try:
            return cls(path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise DataError(f"{path} must be a SentencePiece model, got {error}; prepare the data again") from error

    @classmethod
    def train(
        cls, documents: Iterable[tuple[np.ndarray, np.ndarray]], path: Path, vocabulary: int, workers: int = 1
    ) -> "Phrases":
        """Learn phrases and write the model file.

        The same documents and number of workers give the same file. Long streams are sampled, so memory is bounded.

        Args:
            documents: Ids (length,) of each document with their sentence numbers (length,), read once.
            path: Where the model is written.
            vocabulary: Phrases wanted, single tokens included; documents with little in them give fewer.
            workers: Threads.

        Raises:
            DataError: If there is no token, or if the vocabulary cannot hold the tokens of the documents.
        """
        lines = sample(_training_lines(documents), _SAMPLE_LINES)
        if not lines:
            raise DataError("the training documents must hold some text, got none; check the source of the data")
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type="unigram",
                vocab_size=vocabulary,
                hard_vocab_limit=False,
                character_coverage=1.0,
                normalization_rule_name="identity",
                add_dummy_prefix=False,
                remove_extra_whitespaces=False,
                split_by_whitespace=False,
                split_by_unicode_script=False,
                split_by_number=False,
                max_sentencepiece_length=_LONGEST_PHRASE,
                max_sentence_length=_BYTES * _LONGEST_LINE,
                bos_id=-1,
                eos_id=-1,
                num_threads=workers,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise DataError(
                f"data.phrases must hold every token of the training documents, got {vocabulary}; "
                f"take a larger one ({error})"
            ) from error
        path.write_bytes(model.getvalue())
        return cls.load(path)

    def indices(self, ids: np.ndarray, sentences: np.ndarray) -> np.ndarray:
        """Number the phrases of a document.

        Tokens in a row that no training document had are one phrase.

        Args:
            ids: (length,).
            sentences: (length,), sentence number of each token.

        Returns:
            (length,) int32, the phrase of each token, from 0.
        """
        spelt = self._processor.encode(_lines(ids, sentences), out_type=str)
        lengths = [len(phrase) for line in spelt for phrase in line]
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def _training_lines(documents: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[str]:
    for ids, sentences in documents:
        for line in _lines(ids, sentences):
            for start in range(0, len(line), _LONGEST_LINE):
                yield line[start : start + _LONGEST_LINE]


def _lines(ids: np.ndarray, sentences: np.ndarray) -> list[str]:
    """Spell each sentence, a character for a token."""
    characters = np.minimum(ids.astype("<u4"), _CHARACTERS - 1) + np.array(_FIRST, "<u4")
    text = characters.tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(sentences)) + 1).tolist(), len(text)]
    return [text[start:stop] for start, stop in pairwise(starts) if stop > start]
