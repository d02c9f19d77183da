"""A vocabulary learnt from the documents: SentencePiece, a unigram model with byte fallback.

The vocabulary begins with the tokens of `sumpool.special_tokens` and the 256 bytes. A character without a token of its
own is spelt in bytes, so every text has ids and UNK is never among them. Text is normalised as SentencePiece's
`nmt_nfkc` does it: NFKC, single spaces, no difference between composed and decomposed letters.
"""

import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import final

import sentencepiece

from sumpool.errors import DataError
from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK
from sumpool.text._sampling import sample_lines
from sumpool.text.cleaning import clean
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer

# About 20 million characters of ordinary prose: more changes the pieces little, and training takes 16 bytes for each.
_SAMPLE_LINES = 50_000
_LONGEST_LINE = 1000
_LONGEST_LINE_BYTES = 4 * _LONGEST_LINE
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@final
class SentencePieces(Tokenizer):
    """A trained SentencePiece model."""

    def __init__(self, model: bytes) -> None:
        """Use a serialised SentencePiece model; `load` and `train` are the usual ways to get one."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, path: Path) -> "SentencePieces":
        """Read a model file.

        Raises:
            DataError: If the file is missing, is no SentencePiece model or begins with other pieces.
        """
        try:
            tokenizer = cls(path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise DataError(f"{path} must be a SentencePiece model, got {error}; prepare the data again") from error
        first = tokenizer._first_pieces()
        if first != _FIRST_PIECES:
            raise DataError(f"{path} must begin with the pieces {_FIRST_PIECES}, got {first}; prepare the data again")
        return tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], path: Path, vocabulary: int, workers: int = 1) -> "SentencePieces":
        """Learn a vocabulary and write its model file.

        The same texts and number of workers give the same file. Long streams are sampled, so memory is bounded.

        Args:
            texts: Documents, read once.
            path: Where the model is written.
            vocabulary: Pieces wanted; texts with little in them give fewer.
            workers: Threads.

        Raises:
            DataError: If there is no text, or if the vocabulary cannot hold the characters of the texts.
        """
        lines = sample_lines(texts, _SAMPLE_LINES, _LONGEST_LINE)
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
                byte_fallback=True,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                user_defined_symbols=["\n"],
                max_sentence_length=_LONGEST_LINE_BYTES,
                num_threads=workers,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise DataError(
                f"data.vocabulary must hold the 256 bytes and every common character, got {vocabulary}; "
                f"take a larger one ({error})"
            ) from error
        path.write_bytes(model.getvalue())
        return cls.load(path)

    @property
    def vocabulary(self) -> int:
        """Number of pieces."""
        return int(self._processor.vocab_size())

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Spell many texts; every line feed becomes PARAGRAPH."""
        # One line at a time: within a text SentencePiece glues the first word to the line feed before it.
        lines = [clean(text).split("\n") for text in texts]
        spelt = iter(self._processor.encode(list(chain.from_iterable(lines)), num_threads=1))
        return [_join(islice(spelt, len(part))) for part in lines]

    def encode_sentences(self, text: str, splitter: SentenceSplitter) -> list[list[int]]:
        """Spell a document sentence by sentence; PARAGRAPH follows the last one of each paragraph."""
        return self.encode_all(splitter.split(text))

    def _decode(self, ids: list[int]) -> str:
        lines: list[list[int]] = [[]]
        for piece in ids:
            if piece == PARAGRAPH:
                lines.append([])
            else:
                lines[-1].append(piece)
        return "\n".join(self._processor.decode(lines))

    def pieces(self) -> list[str]:
        """Give the surface of every id; "▁" marks a word's start, and bytes look like "<0x0A>"."""
        return [self._processor.id_to_piece(piece) for piece in range(self.vocabulary)]

    def surfaces(self) -> list[bytes]:
        """Give what every piece spells, in UTF-8; PARAGRAPH is a line feed, and the pieces before it spell nothing."""
        return [_spelt(piece) if number > EOS else b"" for number, piece in enumerate(self.pieces())]

    def word_starts(self) -> list[bool]:
        """Say of every id whether its piece begins a word; PARAGRAPH is a word of its own."""
        return [piece == PARAGRAPH or surface.startswith("▁") for piece, surface in enumerate(self.pieces())]

    def _first_pieces(self) -> list[str]:
        return self.pieces()[: len(_FIRST_PIECES)]


def _join(lines: Iterable[list[int]]) -> list[int]:
    ids: list[int] = []
    for line in lines:
        ids += line
        ids.append(PARAGRAPH)
    return ids[:-1]


def _spelt(piece: str) -> bytes:
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


_FIRST_PIECES = ["<pad>", "<unk>", "<s>", "</s>", "\n"]
