"""The tokenizer of a run folder or of prepared data, recognised by the name of its file."""

from pathlib import Path

from sumpool.io.manifest import run_folder
from sumpool.text.sentencepiece_tokenizer import SENTENCEPIECE_MODEL, SentencePieceTokenizer
from sumpool.text.tokenizer import TOKENIZER_JSON, UNITS_JSON, VOCABULARY_JSON, Tokenizer

TOKENIZER_FILES = (SENTENCEPIECE_MODEL, TOKENIZER_JSON, VOCABULARY_JSON, UNITS_JSON)
"""Names of all files of tokenizers."""


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer of a folder.

    Raises:
        DataError: If there is none, it is damaged, or the library that reads it is not installed.
    """
    path, *_ = tokenizer_files(folder)
    if path.name == SENTENCEPIECE_MODEL:
        return SentencePieceTokenizer.load(path)
    # Imported here, as few models need them.
    if path.name == UNITS_JSON:
        from sumpool.text.units import UnitTokenizer

        return UnitTokenizer.load(folder)
    from sumpool.text.hf_tokenizer import HuggingFaceTokenizer

    return HuggingFaceTokenizer.load(folder)


def tokenizer_files(folder: Path) -> tuple[Path, ...]:
    """Return the paths of the tokenizer's files in a folder; of a learnt one's where there is none."""
    folder = run_folder(folder)
    taken_over = folder / TOKENIZER_JSON
    if taken_over.is_file():
        return (taken_over, folder / VOCABULARY_JSON)
    units = folder / UNITS_JSON
    return (units,) if units.is_file() else (folder / SENTENCEPIECE_MODEL,)


def same_tokenizer(folder: Path, other: Path) -> bool:
    """Return whether two folders contain the same tokenizer, byte for byte."""
    return _contents(folder) == _contents(other)


def _contents(folder: Path) -> list[bytes | None]:
    return [path.read_bytes() if path.is_file() else None for path in tokenizer_files(folder)]
