"""Labelled documents and their preparation; without torch, which the processes that write shards need not import.

Sources are JSON lines {"text": ..., "label": ...}, or tables with such columns, in one file or one for each split.
Names that end in .csv, .tsv or .parquet are tables, the first two with a header line; all other files are JSON lines.
Texts and tables in text may be compressed (.gz, .zst). A text may also be a list of whole numbers, such as the pixels
of an image.

The classes of a classifier are the labels of the training documents. Labels that are whole numbers are in numerical
order, others in that of their characters. A pair of documents is stored as one with the padding token, which no text
contains, between its two parts.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from pydantic import model_validator

from sumpool.data.config import SPLITS, DataConfig, Example, Fields, Split
from sumpool.data.prepare import DocumentEncoder, encode_item
from sumpool.data.report import DOCUMENT_ROWS, OVERLAP_ROWS, DataReport, Row
from sumpool.data.shards import Item, Texts
from sumpool.data.sources import FilesSourceConfig, open_parquet, read_header, read_parquet, read_rows
from sumpool.documents.files import uncompressed_suffix
from sumpool.documents.rows import Line, Reject, read_lines, text_of
from sumpool.errors import DataError
from sumpool.io.bounded import read_json
from sumpool.text.tokenizer import Units
from sumpool.text.units import UnitTokenizer

_PARQUET = ".parquet"
_TABLES = (".csv", ".tsv")
LABEL_FIELDS = ("label", "class", "category", "target", "topic", "rating")

LABELS = "labels.json"
"""File of prepared data and of a run folder."""
_SHOWN_LABELS = 30
"""Labels of the table of a report."""
MAX_LABELS = 10_000
"""More labels are a sign of a field that holds something else."""
_ADVICE = "prepare the data again"


@final
class LabelledSourceConfig(FilesSourceConfig):
    """Rows with a label, and one document or two."""

    kind: Literal["labelled"] = "labelled"
    text: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the file."""
    second: str | None = None
    """Field of the second document, for classifiers of pairs."""
    label: str | None = None
    """Field of the label, a text, a whole number or a truth value; by default the first usual name (label, class, ...)
    in the file."""

    document_setting: ClassVar[str] = "text"
    target_setting: ClassVar[str] = "label"
    target_fields: ClassVar[tuple[str, ...]] = LABEL_FIELDS

    is_table: ClassVar[bool] = False

    def names(self, path: Path) -> Iterable[str]:
        """Return the columns of a table, or the names of the fields of the first valid line."""
        if uncompressed_suffix(path) in _TABLES:
            return read_header(path)
        if path.suffix.lower() == _PARQUET:
            names: list[str] = open_parquet(path).schema_arrow.names
            return names
        return next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the lines of a file.

        Raises:
            DataError: If the file is missing or truncated.
        """
        if uncompressed_suffix(path) in _TABLES:
            return read_rows(path)
        if path.suffix.lower() == _PARQUET:
            columns = {fields.document, fields.summary, fields.id, self.second}
            return read_parquet(path, [name for name in self.names(path) if name in columns])
        return read_lines(path)

    def texts_of(self, row: Mapping[str, object], fields: Fields) -> tuple[str, ...]:
        """Return document, label and second document of a row."""
        label = row.get(fields.summary)
        # Truth values are true and false.
        name = str(label).lower() if isinstance(label, int) else " ".join(text_of(row, fields.summary).split())
        texts = units_of(row, fields.document), name
        return (*texts, units_of(row, self.second)) if self.second else texts


def units_of(fields: Mapping[str, object], name: str) -> str:
    """Return the text in a field, or its whole numbers as a text.

    Raises:
        ValueError: If the field is missing, empty or of another type; the message lacks the location.
    """
    value = fields.get(name)
    if isinstance(value, list) and value and all(type(unit) is int for unit in value):
        return " ".join(map(str, value))
    return text_of(fields, name)


def collect_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Collect the different labels of documents, in the order of their classes.

    Raises:
        DataError: If there is only one, or too many for classes.
    """
    names = set(labels)
    if not 2 <= len(names) <= MAX_LABELS:
        example = f", such as {min(names)[:40]!r}" if names else ""
        raise DataError(
            f"the training documents must have from 2 to {MAX_LABELS:,} different labels, got {len(names):,}"
            f"{example}; check data.source.label"
        )
    numeric = all(name.removeprefix("-").isdecimal() for name in names)
    return tuple(sorted(names, key=lambda name: (int(name) if numeric else 0, name)))


def load_labels(folder: Path) -> tuple[str, ...]:
    """Read the label of each class of prepared data or of a run folder.

    Raises:
        DataError: If the file is missing or damaged.
    """
    names = read_json(folder / LABELS, DataError, _ADVICE).get("labels")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{folder / LABELS} must be a list of labels, got {str(names)[:40]!r}; {_ADVICE}")
    return tuple(names)


def join_pair(first: Item, second: Item, pad: int) -> Item:
    """Join two documents to an item with the id and the target of the first."""
    ids = np.concatenate([first.ids, np.array([pad], first.ids.dtype), second.ids])
    last = first.sentences[-1:] if len(first.sentences) else np.zeros(1, first.sentences.dtype)
    sentences = np.concatenate([first.sentences, last, second.sentences + last + 1])
    return replace(first, ids=ids, sentences=sentences)


def split_pair(item: Item, pad: int) -> tuple[Item, ...]:
    """Split an item of two documents; an item of one document stays as it is."""
    (indices,) = np.nonzero(item.ids == pad)
    if not len(indices):
        return (item,)
    end = int(indices[0])
    ids, sentences = item.ids[end + 1 :], item.sentences[end + 1 :]
    return (
        replace(item, ids=item.ids[:end], sentences=item.sentences[:end]),
        replace(item, ids=ids, sentences=sentences - sentences[:1].sum()),
    )


class LabelledEncoder(DocumentEncoder):
    """Encodes documents, or pairs of documents, with the classes of their labels."""

    @cached_property
    def _classes(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(load_labels(self.folder))}

    def item(self, example: Example) -> Item:
        """Encode a document or a pair with its class.

        Raises:
            DataError: If no training document has the label.
        """
        label = example.summary
        if label not in self._classes:
            raise DataError(
                f"document {example.id!r} must have a label that a training document has too, got {label[:40]!r}; "
                "correct the row, or add training documents of that label"
            )
        target = np.array([self._classes[label]])
        first = encode_item(example.id, example.document, self.tokenizer, self.splitter, target)
        if not example.second:
            return first
        second = encode_item(example.id, example.second, self.tokenizer, self.splitter, target)
        return join_pair(first, second, self.tokenizer.special_tokens.pad)


@dataclass(frozen=True)
class LabelledReport(DataReport):
    """Statistics of prepared documents with labels.

    Attributes:
        labels: Documents of each label in each split.
    """

    labels: Mapping[str, Mapping[Split, int]] = field(default_factory=dict)
    shown: ClassVar[tuple[Row, ...]] = (*DOCUMENT_ROWS, *OVERLAP_ROWS)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the report as a table: a heading, then a label and the value of each split per row."""
        rows = super().rows()
        for name, counts in list(self.labels.items())[:_SHOWN_LABELS]:
            rows.append((f"label {name}", *(f"{counts[split]:,}" for split in SPLITS)))
        more = len(self.labels) - _SHOWN_LABELS
        return [*rows, (f"and {more:,} more labels", "", "", "")] if more > 0 else rows

    def facts(self) -> dict[str, str]:
        """Return what describes the data of a run, by name."""
        labels = ", ".join(f"{name} {sum(counts.values()):,}" for name, counts in self.labels.items())
        facts = {**super().facts(), "labels": labels}
        facts.pop("words of a summary", None)
        return facts


class LabelledDataConfig(DataConfig):
    """Source and preparation of documents with labels."""

    source: LabelledSourceConfig
    """Source of the documents and their labels."""
    units: Units | None = None
    """Divide texts into units instead of the tokens of a trained vocabulary: bytes, characters, words between white
    space, or pixels, numbers from 0 to 255. `vocabulary` limits the characters and the words."""

    @model_validator(mode="after")
    def _units_are_a_vocabulary(self) -> Self:
        if self.units and (self.tokenizer or self.phrases):
            other = "tokenizer" if self.tokenizer else "phrases"
            raise ValueError(f"units and {other} must not both be set, got both; units have a vocabulary of their own")
        return self

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; a setting that is not used is absent."""
        return super().described() | ({"units": self.units} if self.units else {})

    def train_tokenizer(self, folder: Path, threads: int) -> None:
        """Train the tokenizer, or collect the units, of the training documents in a folder."""
        if not self.units:
            super().train_tokenizer(folder, threads)
            return
        assert self.vocabulary, "vocabulary is set if tokenizer is not"
        texts = (example.text for example in Texts(folder, "train"))
        UnitTokenizer.train(texts, folder, self.units, self.vocabulary)

    def prepare_targets(self, folder: Path, texts: Mapping[Split, Texts]) -> Callable[..., DataReport]:
        """Write the labels of the training documents; return the class of a report that counts each in each split."""
        labels = collect_labels(example.summary for example in texts["train"])
        (folder / LABELS).write_text(json.dumps({"labels": labels}, ensure_ascii=False) + "\n", "utf-8")
        counts = {split: Counter(example.summary for example in texts[split]) for split in SPLITS}
        by_label = {name: {split: counts[split][name] for split in SPLITS} for name in labels}
        return partial(LabelledReport, labels=by_label)

    @property
    def encoder(self) -> type[DocumentEncoder]:
        """Class that encodes documents with their labels."""
        return LabelledEncoder
