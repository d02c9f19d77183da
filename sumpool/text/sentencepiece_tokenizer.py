"""SentencePiece tokenizer, trained on the documents: a unigram model (Kudo, 2018) with byte fallback.

The vocabulary begins with the tokens of `sumpool.special_tokens` and the 256 bytes. A character without a token of its
own is encoded as bytes, so every text has ids and UNK is never among them. Text is normalised by SentencePiece's
`nmt_nfkc`: NFKC, single spaces, no difference between composed and decomposed letters.

Phrases are frequent sequences of tokens, found by a unigram model over token ids: every id is written as one character
and every sentence as one line, so that phrases consist of whole tokens and never cross sentences. They supervise the
boundaries (`unigram` of `sumpool.core.boundaries`) during training; a trained model does not need them.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, final

import numpy as np
import sentencepiece

from sumpool.errors import DataError, is_out_of_memory
from sumpool.io.bounded import read_regular
from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK
from sumpool.text.cleaning import clean, cut_at_spaces, paragraphs, reservoir_sample
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer

# About 20 million characters of prose: more changes the vocabulary little, and training takes 16 bytes for each.
_SAMPLE_LINES = 50_000
_MAX_LINE_CHARACTERS = 1000
_MAX_LINE_BYTES = 4 * _MAX_LINE_CHARACTERS
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_FIRST_TOKENS = ["<pad>", "<unk>", "<s>", "</s>", "\n"]
_SETTINGS = {
    "byte_fallback": True,
    "pad_id": PAD,
    "unk_id": UNK,
    "bos_id": BOS,
    "eos_id": EOS,
    "user_defined_symbols": ["\n"],
    "max_sentence_length": _MAX_LINE_BYTES,
}

PHRASES = "phrases.model"
"""File of prepared data."""
_PHRASE_SAMPLE_LINES = 100_000
_MAX_LINE_TOKENS = 1000
_MAX_PHRASE_TOKENS = 16
_FIRST_CHARACTER = 0x2600
"""Character of id 0. From here up to the surrogates SentencePiece treats no character specially; beyond 16 bits version
0.2.3 finds hardly any phrase."""
_CHARACTERS = 0xD800 - _FIRST_CHARACTER
"""Number of characters; the rarest tokens of a larger vocabulary share the last one."""
_CHARACTER_BYTES = 3
"""Bytes of each character in UTF-8."""
_PHRASE_SETTINGS = {
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
class SentencePieceTokenizer(Tokenizer):
    """A trained SentencePiece model."""

    def __init__(self, model: bytes) -> None:
        """Wrap a serialised SentencePiece model; `load` and `train` are the usual ways to get one."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, path: Path) -> "SentencePieceTokenizer":
        """Read a model file.

        Raises:
            DataError: If the file is missing, is no SentencePiece model or begins with other tokens.
        """
        try:
            tokenizer = cls(read_regular(path))
            first = tokenizer.tokens()[: len(_FIRST_TOKENS)]
        except (OSError, RuntimeError, ValueError) as error:  # ValueError: a token that is not UTF-8
            raise DataError(f"{path} must be a SentencePiece model, got {error}; prepare the data again") from error
        if first != _FIRST_TOKENS:
            raise DataError(f"{path} must begin with the tokens {_FIRST_TOKENS}, got {first}; prepare the data again")
        return tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], path: Path, vocab_size: int, workers: int = 1) -> "SentencePieceTokenizer":
        """Train a vocabulary and write its model file.

        The same texts and number of workers give the same file. Long streams are sampled, so memory is bounded.

        Args:
            texts: Documents, read once.
            path: File to write.
            vocab_size: Number of tokens; short texts give fewer.
            workers: Threads.

        Raises:
            DataError: If there is no text, or more characters than tokens.
        """
        parts = (paragraph for text in texts for paragraph in paragraphs(clean(text)))
        lines = (line for part in parts for line in cut_at_spaces(part, _MAX_LINE_CHARACTERS))
        sample = reservoir_sample(lines, _SAMPLE_LINES)
        rule = "data.vocabulary must hold the 256 bytes and every common character"
        path.write_bytes(train_unigram(sample, vocab_size, workers, _SETTINGS, rule))
        return cls.load(path)

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return int(self._processor.vocab_size())

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts; every line feed becomes PARAGRAPH."""
        # One line at a time: within a text SentencePiece glues the first word to the line feed before it.
        # A list of lines would start a thread, which takes ten times as long as a line.
        lines = ([self._processor.encode(line) for line in clean(text).split("\n")] for text in texts)
        return [[*first, *(id for line in others for id in (PARAGRAPH, *line))] for first, *others in lines]

    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Split a document into sentences; a line feed, PARAGRAPH, follows the last one of each paragraph."""
        return splitter.split(text)

    def _decode(self, ids: list[int]) -> str:
        lines: list[list[int]] = [[]]
        for token in ids:
            if token == PARAGRAPH:
                lines.append([])
            else:
                lines[-1].append(token)
        return "\n".join(map(self._processor.decode, lines))  # a list of lines would start a thread

    def tokens(self) -> list[str]:
        """Text of every token; "▁" marks a word's start, and bytes look like "<0x0A>"."""
        return [self._processor.id_to_piece(token) for token in range(self.vocab_size)]

    def token_bytes(self) -> list[bytes]:
        """UTF-8 bytes of every token; PARAGRAPH is a line feed, and the tokens before it are empty."""
        return [metaspace_bytes(token) if index > EOS else b"" for index, token in enumerate(self.tokens())]

    def word_starts(self) -> list[bool]:
        """Return for every token whether it begins a word; PARAGRAPH is a word of its own."""
        return [index == PARAGRAPH or token.startswith("▁") for index, token in enumerate(self.tokens())]


class SentencePieceModel:
    """A trained SentencePiece model beside the tokenizer."""

    def __init__(self, model: bytes) -> None:
        """Wrap a serialised model; `load` is the usual way to get one."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model file.

        Raises:
            DataError: If the file is missing or is not a SentencePiece model.
        """
        try:
            return cls(read_regular(path))
        except (OSError, RuntimeError) as error:
            raise DataError(f"{path} must be a SentencePiece model, got {error}; prepare the data again") from error


def metaspace_bytes(token: str) -> bytes:
    """Return the UTF-8 bytes of a token, in which "▁" is a space and "<0x0A>" a byte."""
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace("▁", " ").encode()


def train_unigram(lines: Sequence[str], vocab_size: int, workers: int, settings: Mapping[str, Any], rule: str) -> bytes:
    """Train a unigram model; the same lines and number of workers give the same one.

    Args:
        lines: Training text.
        vocab_size: Number of tokens; short texts give fewer.
        workers: Threads.
        settings: Further settings of SentencePiece's trainer.
        rule: What the number of tokens must be, for the error: "data.vocabulary must hold every character".

    Returns:
        The serialised model.

    Raises:
        DataError: If there is no line, or more characters than tokens.
    """
    if not lines:
        raise DataError("the training documents must hold some text, got none; check the source of the data")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            num_threads=workers,
            minloglevel=2,
            **settings,
        )
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise DataError(f"{rule}, got {vocab_size}; take a larger one ({error})") from error
    return model.getvalue()


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
        parts = (
            line[start : start + _MAX_LINE_TOKENS]
            for ids, sentences in documents
            for line in _lines(ids, sentences)
            for start in range(0, len(line), _MAX_LINE_TOKENS)
        )
        lines = reservoir_sample(parts, _PHRASE_SAMPLE_LINES)
        rule = "data.phrases must hold every token of the training documents"
        path.write_bytes(train_unigram(lines, vocabulary, workers, _PHRASE_SETTINGS, rule))
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


def _lines(ids: np.ndarray, sentences: np.ndarray) -> list[str]:
    """Write each sentence with one character per token."""
    characters = np.minimum(ids.astype("<u4"), _CHARACTERS - 1) + np.array(_FIRST_CHARACTER, "<u4")
    text = characters.tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(sentences)) + 1).tolist(), len(text)]
    return [text[start:stop] for start, stop in pairwise(starts) if stop > start]
