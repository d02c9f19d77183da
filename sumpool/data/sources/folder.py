"""Folder of text files: `x.txt` is a document, `x.summary.txt` its summary.

Files in a folder named train, validation or test belong to that split; others are split by a hash of their name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from pydantic import Field

from sumpool.data.inputs import SPLITS, Split
from sumpool.data.sources._base import Example, Reject, SourceConfig, hash_split
from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import READ_ERRORS, decode
from sumpool.errors import DataError
from sumpool.io.bounded import read_regular

_DOCUMENT = ".txt"
_SUMMARY = ".summary.txt"


@final
class FolderSourceConfig(SourceConfig):
    """Pairs of text files."""

    kind: Literal["folder"] = "folder"
    path: Path
    """Folder with the text files; subfolders are included."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents outside split folders that is used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents outside split folders that is used for testing."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read all pairs of files, in alphabetical order.

        Raises:
            DataError: If the path is not a folder.
        """
        if not self.path.is_dir():
            raise DataError(f"{self.path} must be a folder with x.txt and x.summary.txt files; check data.source.path")
        names = {file for file in self.path.rglob(f"*{_DOCUMENT}") if file.is_file()}
        stems = {str(file.relative_to(self.path)).removesuffix(_DOCUMENT).removesuffix(".summary") for file in names}
        for stem in sorted(stems):
            yield self._row(stem)

    def _row(self, stem: str) -> Example | Reject:
        texts: list[str] = []
        for suffix in (_DOCUMENT, _SUMMARY):
            file = self.path / f"{stem}{suffix}"
            try:
                text = decode(read_regular(file, DEFAULT_LIMITS.max_bytes))
            except FileNotFoundError:
                return Reject(str(self.path / stem), f"must have both {_DOCUMENT} and {_SUMMARY}, got no {file.name}")
            except (*READ_ERRORS, ValueError) as error:
                return Reject(str(file), str(error))
            if not text.strip():
                return Reject(str(file), "must contain text, got an empty file")
            texts.append(text)
        return Example(stem, texts[0], texts[1], self._split(stem))

    def _split(self, stem: str) -> Split:
        first = Path(stem).parts[0]
        named = next((split for split in SPLITS if split == first), None)
        return named or hash_split(stem, self.validation_share, self.test_share)
