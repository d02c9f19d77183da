"""RFC series: the document is the body of an RFC, the summary its abstract.

RFC n is in the test split if n mod 10 = 7, in validation if n mod 10 = 3, otherwise in training. Some RFCs revise
others: training excludes every RFC that obsoletes or updates one of the other splits, or is obsoleted or updated by it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from pydantic import Field

from sumpool.data.inputs import Split
from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.io.bounded import parse_json

if TYPE_CHECKING:
    from sumpool.data.rfc_texts import File

CLEANING_REVISION = 2
"""Number of the cleaning, part of the fingerprint of prepared data: raise it with every change of `clean_body`."""
_RELATIONS = ("obsoletes", "obsoleted_by", "updates", "updated_by")
_RFC_NUMBER = re.compile(r"\s*RFC\s*0*(\d+)\s*", re.IGNORECASE)


@final
class RfcSourceConfig(SourceConfig):
    """RFCs; by default the bundled sample of 1,713."""

    kind: Literal["rfc"] = "rfc"
    path: Path | None = None
    """Folder or .tar.xz archive with rfcN.txt (or rfcN.txt.gz) and rfcN.json; by default the bundled sample."""
    abstract_words: int = Field(15, ge=1, le=1_000_000)
    """Minimum words of an abstract; RFCs with a shorter one or none are excluded."""
    body_words: int = Field(200, ge=1, le=1_000_000)
    """Minimum words of a body; RFCs with a shorter one are excluded."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read all RFCs with an abstract.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        yield from self._rows()

    def example(self, number: int) -> Example | None:
        """Read one RFC as `rows` does, without cleaning the others; None if `rows` has no such document.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        rows = self._rows(lambda other: other == number)
        return next((row for row in rows if isinstance(row, Example)), None)

    def examples(self, split: Split) -> Iterator[Example]:
        """Read the RFCs of a split as `rows` does, without cleaning the others.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        rows = self._rows(lambda number: split_by_number(number) == split)
        return (row for row in rows if isinstance(row, Example))

    def _rows(self, is_wanted: Callable[[int], bool] = lambda _: True) -> Iterator[Example | Reject]:
        from sumpool.data.rfc_texts import series_files  # with the reader of documents

        series: dict[int, _Metadata] = {}
        excluded: set[int] = set()
        for file in series_files(self._folder(), "json"):
            metadata = _metadata(file)
            if isinstance(metadata, Reject):
                excluded.add(file.number)
                yield metadata
            else:
                series[file.number] = metadata
        excluded |= _revisions_of_held_out(series)
        for file in series_files(self._folder(), "txt"):
            if not is_wanted(file.number):
                continue
            row = None if file.number in excluded else self._row(file, series.pop(file.number, None))
            if row:
                yield row
        for number, metadata in series.items():
            if number not in excluded and self._is_summary(metadata.abstract):
                yield Reject(metadata.where, f"must have a text beside it, got no rfc{number}.txt")

    def notes(self) -> Iterable[str]:
        """Return messages about excluded RFCs."""
        return (
            f"RFCs with fewer than {self.abstract_words} words of abstract or {self.body_words} of body are excluded",
            "training excludes RFCs that revise a validation or test RFC, or are revised by one",
        )

    def revision(self) -> int:
        """Return the number of the cleaning of RFCs."""
        return CLEANING_REVISION

    def files(self) -> Iterator[Path]:
        """List the files of the series, or the archive of the bundled sample."""
        yield from super().files() if self.path else (bundled_sample(),)

    def _folder(self) -> Path:
        return self.path or bundled_sample()

    def _row(self, file: "File", metadata: "_Metadata | None") -> Example | Reject | None:
        if metadata is None:
            return Reject(file.where, f"must have a rfc{file.number}.json beside it, got none")
        if not self._is_summary(metadata.abstract):
            return None
        from sumpool.data.rfc_texts import clean_body

        document = clean_body(_decode(file.content))
        if len(document.split()) < self.body_words:
            return None
        return Example(f"RFC{file.number}", document, metadata.abstract, split_by_number(file.number))

    def _is_summary(self, text: str) -> bool:
        return len(text.split()) >= self.abstract_words


def bundled_sample() -> Path:
    """Return the path of the archive of RFCs bundled with the package."""
    return Path(str(files("sumpool.data.sample") / "rfc.tar.xz"))


def split_by_number(number: int) -> Split:
    """Return the split of an RFC."""
    return {7: "test", 3: "validation"}.get(number % 10, "train")  # type: ignore[return-value]


@dataclass(frozen=True)
class _Metadata:
    where: str
    abstract: str
    related: frozenset[int]


def _metadata(file: "File") -> _Metadata | Reject:
    try:
        content: dict[str, Any] = parse_json(file.content)
        related = [name for relation in _RELATIONS for name in content[relation]]
        numbers = [int(match[1]) for name in related if (match := _RFC_NUMBER.fullmatch(name))]
        from sumpool.data.rfc_texts import clean_abstract

        return _Metadata(file.where, clean_abstract(content["abstract"] or ""), frozenset(numbers))
    except (ValueError, KeyError, TypeError) as error:
        return Reject(file.where, f"must be the metadata of an RFC, got {error!r}")


def _revisions_of_held_out(series: dict[int, _Metadata]) -> set[int]:
    """Return the training RFCs related to a held-out one, by the metadata of either."""
    pairs = {(number, other) for number, metadata in series.items() for other in metadata.related}
    return {
        number
        for pair in pairs
        for number, other in (pair, pair[::-1])
        if split_by_number(number) == "train" and split_by_number(other) != "train"
    }


def _decode(content: bytes) -> str:
    """Decode UTF-8, or Latin-1 as used by a few early RFCs."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
