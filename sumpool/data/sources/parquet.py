"""Parquet: one document with its summary per row; requires pyarrow (extra `parquet`).

A field is a column.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._arrow import open_parquet, read_parquet
from sumpool.data.sources._base import Fields
from sumpool.data.sources._files import FieldsSourceConfig
from sumpool.documents.json_lines import Line, Reject


@final
class ParquetSourceConfig(FieldsSourceConfig):
    """Parquet files, for all splits or per split."""

    kind: Literal["parquet"] = "parquet"

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a file, guessing those that are not set.

        Raises:
            DataError: If the file is damaged or not Parquet, or lacks a column.
            RecipeError: If pyarrow is not installed.
        """
        return self.guess_columns(open_parquet(path).schema_arrow.names, path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the columns of the given fields row by row.

        Raises:
            DataError: If the file is damaged.
        """
        names = [name for name in (fields.document, fields.summary, fields.id) if name]
        return read_parquet(path, names)
