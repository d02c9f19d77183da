"""Preparation of running text for language models.

Files of a prepared folder:

    units.json or tokenizer.model     vocabulary, made from the training split or copied from data.tokenizer
    subwords.model                    unigram subwords of words, if data.subwords is set
    <split>/*.bin, stream.json        token ids and boundaries, see `sumpool.data.text_stream`
    report.json                       report
    manifest.json                     size and SHA-256 of every file, and a fingerprint of the source and the settings

The text is read once, normalised, and kept in temporary files while the vocabulary is made from it.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sumpool.data.prepared_folder import fill_prepared, find_or_make
from sumpool.data.sources._base import SPLITS, Split
from sumpool.data.text_config import TextDataConfig
from sumpool.data.text_files import TextFiles, write_text_files
from sumpool.data.text_report import TextReport, TextSplitReport
from sumpool.data.text_stream import TextStreamWriter
from sumpool.data.word_subwords import WordSubwords
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report
from sumpool.special_tokens import UNK
from sumpool.text.load import load_tokenizer, tokenizer_files
from sumpool.text.sentencepiece_tokenizer import SENTENCEPIECE_MODEL, SentencePieceTokenizer
from sumpool.text.tokenizer import Tokenizer, Units
from sumpool.text.units import UnitTokenizer

SUBWORDS = "subwords.model"
_THREADS = 2
"""Threads that train vocabularies; a constant because the model files depend on it."""
_UNITS: dict[str, Units] = {"characters": "characters", "bytes": "bytes"}
_TEMPORARY = "text"

Encode = Callable[[str], np.ndarray]
"""Ids (tokens,) of a part of a text."""


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
    tokenizer = _make_vocabulary(config, folder, files, check)
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


def _make_vocabulary(config: TextDataConfig, folder: Path, files: TextFiles, check: Check) -> Tokenizer:
    if config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            if not path.is_file():
                raise DataError(f"data.tokenizer must be a folder with {path.name}, got {path.parent} without it")
            shutil.copyfile(path, folder / path.name)
        return load_tokenizer(folder)
    splits = SPLITS if config.vocabulary_from == "all" else SPLITS[:1]
    texts = (text for split in splits for text in files.read(split, check))
    if config.vocabulary == "subwords":
        return SentencePieceTokenizer.train(texts, folder / SENTENCEPIECE_MODEL, config.vocabulary_size, _THREADS)
    return UnitTokenizer.train(texts, folder, _UNITS[config.vocabulary], config.vocabulary_size)


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
                if units == "bytes":
                    boundaries = _of_bytes(boundaries, text)
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
    if not isinstance(tokenizer, UnitTokenizer) or tokenizer.units not in _UNITS:
        return lambda text: np.array(tokenizer.encode(text), np.int32)
    first = next(place for place, token in enumerate(tokenizer.token_bytes()) if token)
    if tokenizer.units == "bytes":
        return lambda text: np.frombuffer(text.encode(errors="surrogateescape"), np.uint8).astype(np.int32) + first
    tokens = [token.decode() for token in tokenizer.token_bytes()]
    table = np.full(0x110000, UNK, np.int32)
    for place, token in enumerate(tokens):
        if token:
            table[ord(token)] = place
    return lambda text: table[np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4")]


def _of_bytes(boundaries: np.ndarray, text: str) -> np.ndarray:
    """Move the boundaries of characters (characters,) to the last bytes of these: (bytes,)."""
    code_points = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4")
    sizes = 1 + (code_points >= 0x80).astype(np.int64) + (code_points >= 0x800) + (code_points >= 0x10000)
    sizes[(code_points >= 0xDC80) & (code_points < 0xDD00)] = 1  # a byte that is not UTF-8
    of_bytes = np.zeros(int(sizes.sum()), bool)
    of_bytes[np.cumsum(sizes)[boundaries] - 1] = True
    return of_bytes


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


_LONGEST_WORD = 1 << 22
"""Characters without a space after which a text is cut anywhere."""


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

    def make(folder: Path) -> None:
        fill_prepared(config, folder, fill, report, check)

    folder = find_or_make(config, default, make, report, check)
    return folder, TextReport.load(folder)
