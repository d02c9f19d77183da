"""The `data` section of a recipe: rows of documents, their source, and their preparation.

The sections of all tasks share the settings of prepared data and of sources with files per split.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sumpool.documents.document import Reject as Reject
from sumpool.errors import DataError, RecipeError
from sumpool.progress import Check, Report
from sumpool.settings import OneOf, Settings

if TYPE_CHECKING:
    from sumpool.data.prepare import DocumentEncoder
    from sumpool.data.report import DataReport
    from sumpool.data.shards import Texts


Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class InputConfig(Settings, ABC):
    """Settings of a source of any task."""

    kind: str

    revision: ClassVar[int] = 0
    """Number of the cleaning; raising it makes prepared data stale although its files are unchanged."""

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        By default all paths among the settings; a folder stands for all files in it.

        Raises:
            DataError: If a pattern matches no file.
        """
        for name in type(self).model_fields:
            value = getattr(self, name)
            for pattern in value if isinstance(value, tuple) else (value,):
                for path in matching_paths(pattern, name) if isinstance(pattern, Path) else ():
                    yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)


class SplitFilesConfig(InputConfig, ABC):
    """Settings of a source with one file for all splits, or one for each."""

    path: Path | None = None
    """File, or files by the wildcards * and ?, with everything, which is divided. Either `path` or `train` must be set.
    """
    train: Path | None = None
    """File or files to train on."""
    validation: Path | None = None
    """File or files of validation."""
    test: Path | None = None
    """File or files of the test."""

    @model_validator(mode="after")
    def _require_one_way_to_split(self) -> Self:
        if (self.path is None) == (self.train is None):
            raise ValueError("must have either path, or train with validation and test")
        if self.path and (self.validation or self.test):
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return self

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files, those of a pattern in alphabetical order, with their splits; None where they are divided.

        Raises:
            DataError: If a pattern matches no file.
        """
        patterns: tuple[tuple[Path | None, Split | None], ...] = (
            (self.path, None),
            (self.train, "train"),
            (self.validation, "validation"),
            (self.test, "test"),
        )
        for pattern, split in patterns:
            if pattern is not None:
                yield from ((path, split) for path in matching_paths(pattern, split or "path"))


def matching_paths(pattern: Path, setting: str) -> list[Path]:
    """Return the paths that match a pattern in alphabetical order; a path without wildcards is returned as it is.

    Raises:
        DataError: If there are none; the message names the setting of `data.source`.
    """
    if pattern.exists() or not {*str(pattern)} & {*"*?"}:
        return [pattern]
    root = Path(pattern.anchor)
    paths = sorted(root.glob(str(pattern.relative_to(root))))
    if not paths:
        raise DataError(f"{pattern} must name a file, got none; check data.source.{setting}")
    return paths


@dataclass(frozen=True)
class Example:
    """A document with its summary, or one or two documents with their label.

    Attributes:
        id: Document id, unique within its source.
        document: Document text; paragraphs are separated by an empty line.
        summary: Reference summary, or label.
        split: Split of the document.
        second: Second document of a pair; empty without one.
        where: Location of the row in its file; empty if the id tells it.
    """

    id: str
    document: str
    summary: str
    split: Split
    second: str = ""
    where: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """Text of the document, or of both documents of a pair."""
        return f"{self.document}\n\n{self.second}" if self.second else self.document


@dataclass(frozen=True)
class Fields:
    """Names of the fields of document, summary (or label) and id; without an id, the location in the file is the id."""

    document: str
    summary: str
    id: str | None


class SourceConfig(InputConfig, ABC):
    """Settings of a source of documents with summaries."""

    @abstractmethod
    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows, one at a time and in a fixed order; an unusable row is returned as a `Reject`."""

    def field_names(self) -> Fields | None:
        """Return the names of the fields that are read; None for sources without named fields."""
        return None

    def notes(self) -> Iterable[str]:
        """Return messages about guessed settings and excluded documents; none by default."""
        return ()


def hash_split(name: str, validation: float, test: float) -> Split:
    """Assign a document to a split by a hash of its id, independent of machine and document order.

    Args:
        name: Document id.
        validation: Fraction of the documents for validation, from 0 to 1.
        test: Fraction of the documents for testing, from 0 to 1.
    """
    draw = int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest()) / 2**64
    if draw < test:
        return "test"
    return "validation" if draw < test + validation else "train"


class PreparedDataConfig(Settings, ABC):
    """Settings of a `data` section of any task."""

    prepared: Path | None = None
    """Folder of the prepared data; by default the folder in `prepared/` that was made from the same source with the
    same settings, else `prepared/` and the name of the recipe. Other data there is kept, and new data goes beside it.
    """
    tokenizer: Path | None = None
    """Run folder or imported model whose tokenizer is used; by default one is made from the training split."""
    verify: bool = False
    """Whether to hash all prepared data before it is read; otherwise a file is hashed once on a machine, and again when
    its size, times or inode change."""

    @model_validator(mode="after")
    def _require_folder(self) -> Self:
        if self.prepared is not None and not self.prepared.name.strip("."):
            raise ValueError(f"prepared must be a folder of its own, such as prepared/news, got {self.prepared}")
        return self

    @abstractmethod
    def require_source(self) -> InputConfig:
        """Return the source."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; the tokenizer is described by its content."""

    @abstractmethod
    def prepare(self, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
        """Fill a new folder with the prepared data, but for its manifest; see `find_or_prepare`."""


class GapSentencesConfig(Settings):
    """Gap-sentence generation (PEGASUS): principal sentences are removed from a window of a document and generated."""

    words: int = Field(60, ge=10, le=1_000_000)
    """Maximum words removed from a window; one sentence is always removed."""
    window: int = Field(600, ge=30, le=1_000_000)
    """Words per window."""
    windows: int = Field(10, ge=1, le=1_000_000)
    """Maximum windows per document, from its beginning."""


class ShuffledConfig(Settings):
    """Sentence permutation (BART): the sentences of a passage are shuffled and restored to their order."""

    words: int = Field(64, ge=10, le=1_000_000)
    """Maximum words of a passage."""
    passages: int = Field(25, ge=1, le=1_000_000)
    """Maximum passages per document, from its beginning."""


class DataConfig(PreparedDataConfig):
    """Source and preparation of documents with summaries."""

    source: Annotated[SourceConfig, OneOf("sumpool.data.sources")] | None = None
    """Source of the documents and their summaries; null only for imported models."""
    shuffled: ShuffledConfig | None = None
    """Train on documents alone, by sentence permutation, instead of on summaries."""
    gap_sentences: GapSentencesConfig | None = None
    """Train on documents alone, by gap-sentence generation, instead of on summaries."""
    vocabulary: Annotated[int, Field(ge=300, le=256000)] | None = None
    """Vocabulary size, including 256 byte tokens; by default 8000, or the size of `tokenizer`."""
    phrases: int = Field(0, ge=0, le=1_000_000)
    """Size of the phrase vocabulary, including single tokens, that teaches `unigram` boundaries; 0: none."""
    workers: int = Field(2, ge=1, le=1024)
    """Worker processes; the prepared data does not depend on their number."""

    @model_validator(mode="before")
    @classmethod
    def _default_vocabulary(cls, tree: Any) -> Any:  # noqa: ANN401 - any YAML
        return {"vocabulary": 8000, **tree} if isinstance(tree, dict) and tree.get("tokenizer") is None else tree

    @model_validator(mode="after")
    def _require_consistency(self) -> Self:
        if self.vocabulary is None and self.tokenizer is None:
            raise ValueError("vocabulary must be the size of the vocabulary to train, got null; the default is 8000")
        if self.shuffled and self.gap_sentences:
            raise ValueError("shuffled and gap_sentences must not both be set, got both; a run learns one task")
        if self.vocabulary and 0 < self.phrases <= self.vocabulary:
            raise ValueError(f"phrases must be 0 or more than vocabulary = {self.vocabulary}, got {self.phrases}")
        return self

    def require_source(self) -> SourceConfig:
        """Return the source, which preparation requires.

        Raises:
            RecipeError: If no source is set.
        """
        if self.source is None:
            raise RecipeError(
                "data.source must name the documents and their summaries, got null: an imported model has no data; "
                "train a recipe with a source, with data.tokenizer and train.init_from set to the model"
            )
        return self.source

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; a setting that is not used is absent."""
        unused = {"vocabulary"} if self.tokenizer else set()
        settings = {"source", "vocabulary", "phrases", "shuffled", "gap_sentences"} - unused
        self.require_source()
        return self.model_dump(mode="json", include=settings, exclude_none=True)

    def prepare(self, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
        """Fill a new folder with the prepared documents, but for its manifest."""
        from sumpool.data.prepare import prepare  # with all that reads and encodes documents

        prepare(self, folder, skip_bad_rows=skip_bad_rows, report=report, check=check)

    def train_tokenizer(self, folder: Path, threads: int) -> None:
        """Train the tokenizer on the texts of the training split in a folder, and write its files there."""
        from sumpool.data.shards import Texts
        from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
        from sumpool.text.tokenizer import SENTENCEPIECE_MODEL

        assert self.vocabulary, "vocabulary is set if tokenizer is not"
        texts = (text for example in Texts(folder, "train") for text in (example.text, example.summary))
        SentencePieceTokenizer.train(texts, folder / SENTENCEPIECE_MODEL, self.vocabulary, threads)

    def prepare_targets(self, folder: Path, texts: "Mapping[Split, Texts]") -> "Callable[..., DataReport]":
        """Write what targets are encoded with; return the class of the data report."""
        from sumpool.data.report import DataReport

        del folder, texts
        return DataReport

    @property
    def encoder(self) -> "Callable[..., DocumentEncoder]":
        """Class that encodes documents with their targets."""
        from sumpool.data.prepare import DocumentEncoder

        return DocumentEncoder
