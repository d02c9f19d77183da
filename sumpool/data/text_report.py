"""Report of prepared running text, as a table and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sumpool.data.report import REPORT_FILE
from sumpool.data.sources._base import SPLITS, Split
from sumpool.errors import DataError
from sumpool.io.bounded import read_regular
from sumpool.settings import first_problem


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
class TextReport:
    """Counts of prepared running text.

    Attributes:
        read: Documents of the source: kept + rejected.
        kept: Documents of all splits.
        rejected: Rows that could not be used.
        vocabulary: Vocabulary size, special tokens included.
        splits: Counts of each split.
    """

    read: int
    kept: int
    rejected: int
    vocabulary: int
    splits: Mapping[Split, TextSplitReport]

    def save(self, folder: Path) -> None:
        """Write the report to a prepared folder."""
        (folder / REPORT_FILE).write_bytes(_ADAPTER.dump_json(self, indent=1) + b"\n")

    @classmethod
    def load(cls, folder: Path) -> "TextReport":
        """Read the report of a prepared folder.

        Raises:
            DataError: If the report is missing or invalid.
        """
        path = folder / REPORT_FILE
        try:
            return _ADAPTER.validate_json(read_regular(path))
        except OSError as error:
            problem = str(error.strerror)
        except ValidationError as error:
            problem = first_problem(error)
        raise DataError(f"{path} must be a report of running text, got: {problem}; run sumpool prepare again")

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


_ADAPTER = TypeAdapter(TextReport)
