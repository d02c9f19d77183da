"""Preparation of running text for language models.

Files of a prepared folder:

    units.json or tokenizer.model     vocabulary, made from the training split or copied from data.tokenizer
    subwords.model                    unigram subwords of words, if data.subwords is set
    <split>/*.bin, stream.json        token ids and boundaries, see `sumpool.tasks.language_modeling.stream`
    report.json                       report
    manifest.json                     size and SHA-256 of every file, and a fingerprint of the source and the settings

The text is read once, normalised, and kept in temporary files while the vocabulary is made from it.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, TextIO, final

import numpy as np

from sumpool.data.config import SPLITS, Split
from sumpool.data.prepared_folder import find_or_make
from sumpool.data.report import PreparedReport
from sumpool.documents.document import Reject
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report
from sumpool.special_tokens import UNK
from sumpool.tasks.language_modeling.config import TextDataConfig
from sumpool.tasks.language_modeling.running_text import RunningText
from sumpool.tasks.language_modeling.sources import TextChunk
from sumpool.tasks.language_modeling.stream import TextStreamWriter
from sumpool.text.cleaning import cut_at_spaces, reservoir_sample
from sumpool.text.sentencepiece_tokenizer import SentencePieceModel, train_unigram
from sumpool.text.tokenizer import Tokenizer, load_tokenizer, tokenizer_files
from sumpool.text.units import UnitTokenizer

SUBWORDS = "subwords.model"
_TEMPORARY = "text"
_TASK: Final = "prepare: read"
_WHOLE: Final = "whole"
"""Name of the file that is divided by position."""
_CHUNK: Final = 1 << 20
"""Characters that are read at once."""
_LONGEST_WORD = 1 << 22
"""Characters without a space after which a text is cut anywhere."""
_THREADS = 2
"""Threads that train vocabularies; a constant because the model files depend on it."""
_SAMPLE_LINES: Final = 100_000
"""Lines that subwords are learnt from."""
_MAX_LINE_CHARACTERS: Final = 1000
_CACHED_WORDS: Final = 1 << 18
"""Words whose division is kept, with about 100 bytes for each."""
_SPACES: Final = " \n"
_WORD_START: Final = "▁"
_SETTINGS: Final = {
    "character_coverage": 1.0,
    "normalization_rule_name": "identity",
    "max_sentencepiece_length": 16,
    "max_sentence_length": 4 * _MAX_LINE_CHARACTERS,  # bytes
    "bos_id": -1,
    "eos_id": -1,
}
"""Settings of SentencePiece for subwords."""

Encode = Callable[[str], np.ndarray]
"""Ids (tokens,) of a part of a text."""


@final
class WordSubwords(SentencePieceModel):
    """Unigram subwords of words (Kudo, 2018), which teach boundaries to language models.

    As Nawrot et al. (2023) do, a text is split at spaces and each word is divided by a SentencePiece unigram model. A
    boundary is the last character of each subword inside a word, and the space behind a word.
    """

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


@dataclass(frozen=True)
class TextSplitReport:
    """Counts of a split.

    Attributes:
        documents: Documents; those of a text that is divided by position are all counted for training.
        characters: Characters.
        bytes: Bytes of UTF-8.
        words: Words between white space.
        tokens: Tokens.
        unknown: Tokens of characters that are not in the vocabulary.
        boundaries: Boundaries of the subwords that teach; 0 without.
    """

    documents: int
    characters: int
    bytes: int
    words: int
    tokens: int
    unknown: int
    boundaries: int


@dataclass(frozen=True)
class TextReport(PreparedReport):
    """Counts of prepared running text.

    Attributes:
        splits: Counts of each split.
    """

    splits: Mapping[Split, TextSplitReport]

    def rows(self) -> list[tuple[str, ...]]:
        """Return the report as a table: a heading, then a label and the value of each split per row."""
        splits = [self.splits[split] for split in SPLITS]
        rows: list[tuple[str, ...]] = [("", *SPLITS)]
        for name in ("documents", "characters", "bytes", "words", "tokens", "unknown"):
            rows.append((name, *(f"{getattr(split, name):,}" for split in splits)))
        if any(split.boundaries for split in splits):
            lengths = (split.tokens / max(split.boundaries, 1) for split in splits)
            rows.append(("tokens per segment of the teacher", *(f"{length:.2f}" for length in lengths)))
        return rows

    def facts(self) -> dict[str, str]:
        """Return what describes the data of a run, by name."""
        counts = {
            name: ", ".join(f"{split} {getattr(part, name):,}" for split, part in self.splits.items())
            for name in ("characters", "tokens")
        }
        return {**counts, "vocabulary": f"{self.vocabulary:,} tokens"}


def find_or_prepare_text(
    config: TextDataConfig, default: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> tuple[Path, TextReport]:
    """Prepare running text, unless equal data has been prepared; equal data is never prepared twice.

    Args:
        config: Source and settings.
        default: Folder for new data if `config.prepared` names none.
        skip_bad_rows: Whether to skip rows that cannot be used.
        report: Progress callback.
        check: Called for every part of the text; an exception stops the work.

    Returns:
        The folder and its report.

    Raises:
        DataError: As `prepare_text`.
        RecipeError: If the folder has other content, which is left untouched.
        ResourceError: If memory or disk space runs out.
    """

    def fill(new: Path) -> None:
        prepare_text(config, new, skip_bad_rows=skip_bad_rows, report=report, check=check)

    folder = find_or_make(config, default, fill, report, check)
    return folder, TextReport.load(folder)


def prepare_text(config: TextDataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
    """Prepare running text in an empty folder, except for its manifest.

    Args:
        config: Source and settings.
        folder: Folder to fill.
        skip_bad_rows: Whether to skip rows that cannot be used.
        report: Progress callback.
        check: Called for every part of the text; an exception stops the work.

    Raises:
        DataError: If a row cannot be used, a split has no text, or `data.tokenizer` holds no tokenizer.
    """
    temporary = folder / _TEMPORARY
    temporary.mkdir()
    files = write_text_files(config, temporary, skip_bad_rows=skip_bad_rows, report=report, check=check)
    report(Progress("prepare: vocabulary"))
    tokenizer: Tokenizer
    if config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            if not path.is_file():
                raise DataError(f"data.tokenizer must be a folder with {path.name}, got {path.parent} without it")
            shutil.copyfile(path, folder / path.name)
        tokenizer = load_tokenizer(folder)
    else:
        texts = (
            text
            for split in (SPLITS if config.vocabulary_from == "all" else SPLITS[:1])
            for text in files.read(split, check)
        )
        tokenizer = UnitTokenizer.train(texts, folder, config.vocabulary, config.vocabulary_size)
    subwords = None
    if config.subwords:
        report(Progress("prepare: subwords"))
        subwords = WordSubwords.train(files.read("train", check), folder / SUBWORDS, config.subwords, _THREADS)
    splits: dict[Split, TextSplitReport] = {}
    for split in SPLITS:
        splits[split] = _write_stream(folder, split, files, tokenizer, subwords, report, check)
    shutil.rmtree(temporary)
    notes = [f"{files.rejected:,} rows could not be used"] if files.rejected else []
    unknown = sum(part.unknown for part in splits.values())
    if unknown:
        notes.append(f"{unknown:,} characters are not in the vocabulary, and are read as one unknown character")
    for note in notes:
        report(Progress("prepare", note=note))
    text_report = TextReport(files.kept + files.rejected, files.kept, files.rejected, tokenizer.vocab_size, splits)
    text_report.save(folder)


@dataclass(frozen=True)
class TextFiles:
    """Normalised text in files.

    Attributes:
        parts: File of each split, with its first and its last character, exclusive.
        documents: Documents of each split.
        kept: Documents that were read.
        rejected: Rows that could not be used.
    """

    parts: Mapping[Split, tuple[Path, int, int]]
    documents: Mapping[Split, int]
    kept: int
    rejected: int

    @property
    def characters(self) -> dict[Split, int]:
        """Characters of each split."""
        return {split: stop - start for split, (_, start, stop) in self.parts.items()}

    def read(self, split: Split, check: Check) -> Iterator[str]:
        """Read the text of a split part by part; `check` is called before each part."""
        path, start, stop = self.parts[split]
        with _open(path, "r") as file:
            position = 0
            while position < stop and (text := file.read(min(_CHUNK, stop - position))):
                check()
                if position + len(text) > start:
                    yield text[max(start - position, 0) :]
                position += len(text)


def write_text_files(
    config: TextDataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> TextFiles:
    """Read, normalise and divide the text of a source, in bounded memory.

    Raises:
        DataError: If a row cannot be used and `skip_bad_rows` is false, or a split has fewer than two characters.
    """
    by_position = config.source.path is not None
    names: tuple[str, ...] = (_WHOLE,) if by_position else SPLITS
    rejected = 0
    with ExitStack() as stack:
        writers = {}
        for name in names:
            evaluated = name in ("validation", "test")
            limit = config.max_evaluation_characters if evaluated else config.max_characters
            path = folder / f"{name}.txt"
            writers[name] = _Writer(path, stack.enter_context(_open(path, "w")), config, limit)
        for chunk in config.source.chunks(strict=config.vocabulary != "bytes"):
            check()
            if isinstance(chunk, Reject):
                if not skip_bad_rows:
                    where = f"{chunk.where}: {chunk.reason}"
                    raise DataError(f"{where}; correct it, or skip such rows with --skip-bad-rows")
                rejected += 1
                continue
            writer = writers[chunk.split or _WHOLE]
            if not writer.is_full:
                writer.add(chunk)
            elif by_position:
                break
            report(Progress(_TASK, sum(writer.characters for writer in writers.values())))
        for writer in writers.values():
            writer.finish()
        read = sum(writer.characters for writer in writers.values())
        report(Progress(_TASK, read, read))
    files = _divide(writers, config, rejected)
    for name, count in files.characters.items():
        if count < 2:
            raise DataError(f"the {name} split must hold at least two characters, got {count}; take more text")
    return files


def _divide(writers: Mapping[str, "_Writer"], config: TextDataConfig, rejected: int) -> TextFiles:
    """Return the text of each split: that of its own file, or a part of a text that is divided by position."""
    if _WHOLE not in writers:
        parts = {split: (writers[split].path, 0, writers[split].characters) for split in SPLITS}
        documents = {split: writers[split].documents for split in SPLITS}
        return TextFiles(parts, documents, sum(documents.values()), rejected)
    writer = writers[_WHOLE]
    total = writer.characters
    test, validation = (round(total * share) for share in (config.test_share, config.validation_share))
    cuts = (0, total - validation - test, total - test, total)
    parts = {split: (writer.path, *span) for split, span in zip(SPLITS, pairwise(cuts), strict=True)}
    counts: dict[Split, int] = {"train": writer.documents, "validation": 0, "test": 0}
    return TextFiles(parts, counts, writer.documents, rejected)


def _open(path: Path, mode: str) -> TextIO:
    return path.open(mode, encoding="utf-8", errors="surrogateescape", newline="")  # type: ignore[return-value]


class _Writer:
    """Normaliser and file of one text, up to a number of characters."""

    def __init__(self, path: Path, file: TextIO, config: TextDataConfig, limit: int | None) -> None:
        self.path = path
        self.characters = 0
        self.documents = 0
        self._file = file
        self._text = RunningText(config.clean) if config.clean else None
        self._limit = limit
        self._document = ""

    @property
    def is_full(self) -> bool:
        return self._limit is not None and self.characters >= self._limit

    def add(self, chunk: TextChunk) -> None:
        """Append a part of a document; documents are separated by a line end."""
        text = chunk.text
        if chunk.document != self._document:
            text = f"\n{text}" if self.documents else text
            self.documents += 1
            self._document = chunk.document
        self._write(self._text.add(text) if self._text else text)

    def finish(self) -> None:
        """Append the end of the text."""
        self._write(self._text.finish() if self._text else "")

    def _write(self, text: str) -> None:
        if self._limit is not None:
            text = text[: max(self._limit - self.characters, 0)]
        self.characters += len(text)
        self._file.write(text)


def _write_stream(
    folder: Path,
    split: Split,
    files: TextFiles,
    tokenizer: Tokenizer,
    subwords: WordSubwords | None,
    report: Report,
    check: Check,
) -> TextSplitReport:
    """Encode the text of a split part by part; parts end with a space, so that words stay whole."""
    characters = size = words = unknown = ends = 0
    encode = _encoder(tokenizer)
    units = tokenizer.units if isinstance(tokenizer, UnitTokenizer) else None
    total = files.characters[split]
    with TextStreamWriter(folder, split, tokenizer.vocab_size, boundaries=subwords is not None) as writer:
        for text in _whole_words(files.read(split, check)):
            ids = encode(text)
            boundaries = None
            if subwords:
                boundaries = subwords.boundaries(text)
                if units == "bytes":  # the last byte of each of these characters
                    sizes = [1 if "\udc80" <= character <= "\udcff" else len(character.encode()) for character in text]
                    of_bytes = np.zeros(sum(sizes), bool)
                    of_bytes[np.cumsum(sizes)[boundaries] - 1] = True
                    boundaries = of_bytes
                ends += int(boundaries.sum())
            writer.add(ids, boundaries)
            characters += len(text)
            size += len(text.encode(errors="surrogateescape"))
            words += len(text.split())
            unknown += int((ids == UNK).sum())
            report(Progress(f"prepare: {split}", characters, total))
        return TextSplitReport(files.documents[split], characters, size, words, writer.tokens, unknown, ends)


def _encoder(tokenizer: Tokenizer) -> Encode:
    """Return the function from text to ids; that of units uses a table."""
    if not isinstance(tokenizer, UnitTokenizer) or tokenizer.units not in ("characters", "bytes"):
        return lambda text: np.array(tokenizer.encode(text), np.int32)
    first = next(index for index, token in enumerate(tokenizer.token_bytes()) if token)
    if tokenizer.units == "bytes":
        return lambda text: np.frombuffer(text.encode(errors="surrogateescape"), np.uint8).astype(np.int32) + first
    tokens = [token.decode() for token in tokenizer.token_bytes()]
    table = np.full(0x110000, UNK, np.int32)
    for index, token in enumerate(tokens):
        if token:
            table[ord(token)] = index
    return lambda text: table[np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4")]


def _whole_words(texts: Iterator[str]) -> Iterator[str]:
    """Cut the parts of a text at their last spaces; a part without one is longer by the next."""
    rest = ""
    for text in texts:
        rest += text
        space = max(rest.rfind(" "), rest.rfind("\n"))
        if space >= 0:
            yield rest[: space + 1]
            rest = rest[space + 1 :]
        elif len(rest) > _LONGEST_WORD:
            yield rest
            rest = ""
    if rest:
        yield rest


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Divide a text into lines at spaces; a longer word is cut."""
    rest = ""
    for text in texts:
        *lines, rest = cut_at_spaces(rest + text.replace("\n", " "), _MAX_LINE_CHARACTERS)
        yield from filter(None, map(str.strip, lines))
    if rest.strip():
        yield rest.strip()
