"""The RFC series: an RFC's body is the document, and its author's abstract the summary.

The split goes by number: n mod 10 = 7 is test, 3 is validation, the rest training. Some RFCs are revisions of others,
so training leaves out every RFC that one of the other two splits obsoletes or updates, or is obsoleted or updated by.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, final

from pydantic import Field

from sumpool.data.sources._base import Example, Reject, SourceConfig, Split
from sumpool.data.sources._rfc_abstract import abstract
from sumpool.data.sources._rfc_cleaning import body
from sumpool.data.sources._rfc_series import File, series_files

_RELATIONS = ("obsoletes", "obsoleted_by", "updates", "updated_by")
_RFC_NUMBER = re.compile(r"\s*RFC\s*0*(\d+)\s*", re.IGNORECASE)


@final
class RfcSourceConfig(SourceConfig):
    """RFCs; without a path, the sample that comes with sumpool."""

    kind: Literal["rfc"] = "rfc"
    path: Path | None = None
    """Folder or .tar.xz archive of rfcN.txt or rfcN.txt.gz with rfcN.json; by default the bundled sample."""
    abstract_words: int = Field(15, ge=1)
    """Words of an abstract; an RFC with a shorter one or with none is left out."""
    body_words: int = Field(200, ge=1)
    """Words of a body; an RFC with a shorter one is left out."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read every RFC that has an abstract.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        known: dict[int, _Metadata] = {}
        left_out: set[int] = set()
        for file in series_files(self._folder(), "json"):
            metadata = _metadata(file)
            if isinstance(metadata, Reject):
                left_out.add(file.number)
                yield metadata
            else:
                known[file.number] = metadata
        left_out |= _revisions_of_held_out(known)
        for file in series_files(self._folder(), "txt"):
            row = None if file.number in left_out else self._row(file, known.pop(file.number, None))
            if row:
                yield row
        for number, metadata in known.items():
            if number not in left_out and self._is_summary(metadata.abstract):
                yield Reject(metadata.where, f"must have a text beside it, got no rfc{number}.txt")

    def notes(self) -> Iterable[str]:
        """Say what is left out."""
        return (
            f"RFCs without an abstract of {self.abstract_words} words or a body of {self.body_words} are left out",
            "training leaves out RFCs that revise one of validation or test, or are revised by one",
        )

    def files(self) -> Iterator[Path]:
        """Name the files of the series, the bundled sample where no path is given."""
        yield from super().files() if self.path else (bundled_sample(),)

    def _folder(self) -> Path:
        return self.path or bundled_sample()

    def _row(self, file: File, metadata: "_Metadata | None") -> Example | Reject | None:
        if metadata is None:
            return Reject(file.where, f"must have a rfc{file.number}.json beside it, got none")
        if not self._is_summary(metadata.abstract):
            return None
        document = body(_decode(file.content))
        if len(document.split()) < self.body_words:
            return None
        return Example(f"RFC{file.number}", document, metadata.abstract, split_by_number(file.number))

    def _is_summary(self, text: str) -> bool:
        return len(text.split()) >= self.abstract_words


def bundled_sample() -> Path:
    """Give the archive of RFCs that comes with the package."""
    return Path(str(files("sumpool.data.sample") / "rfc.tar.xz"))


def split_by_number(number: int) -> Split:
    """Give the split of an RFC."""
    return {7: "test", 3: "validation"}.get(number % 10, "train")  # type: ignore[return-value]


@dataclass(frozen=True)
class _Metadata:
    where: str
    abstract: str
    related: frozenset[int]


def _metadata(file: File) -> _Metadata | Reject:
    try:
        content: dict[str, Any] = json.loads(file.content)
        related = [name for relation in _RELATIONS for name in content[relation]]
        numbers = [int(found[1]) for name in related if (found := _RFC_NUMBER.fullmatch(name))]
        return _Metadata(file.where, abstract(content["abstract"] or ""), frozenset(numbers))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Reject(file.where, f"must be the metadata of an RFC, got {error!r}")


def _revisions_of_held_out(known: dict[int, _Metadata]) -> set[int]:
    """Find the training RFCs that a held-out one is related to, whichever of the two says so."""
    pairs = {(number, other) for number, metadata in known.items() for other in metadata.related}
    return {
        number
        for pair in pairs
        for number, other in (pair, pair[::-1])
        if split_by_number(number) == "train" and split_by_number(other) != "train"
    }


def _decode(content: bytes) -> str:
    """Decode UTF-8; a few early RFCs are in Latin-1."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
