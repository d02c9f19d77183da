"""Parquet with a text per row; requires pyarrow (extra `parquet`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, final

from sumpool.documents.document import Reject
from sumpool.tasks.language_modeling.sources._base import TextChunk, TextSourceConfig, parquet_texts


@final
class ParquetTextSourceConfig(TextSourceConfig):
    """Files of Parquet."""

    kind: Literal["parquet"] = "parquet"
    text: str = "text"
    """Column of the text."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    def documents(self, path: Path, *, strict: bool) -> Iterator[TextChunk | Reject]:
        """Read the rows of a file; the location of a row is its id.

        Raises:
            DataError: If the file is missing or damaged, or has no such column.
            RecipeError: If pyarrow is not installed.
        """
        del strict  # pyarrow reads UTF-8
        return parquet_texts(path, self.text)
