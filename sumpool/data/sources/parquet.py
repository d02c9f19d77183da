"""Parquet: one document with its summary per row; requires pyarrow (extra `parquet`).

All documents are in the files of `path`, or each split has its files. File names may contain the wildcards * and ?, and
a field is a column.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, final

from sumpool.data.sources._arrow import first_line, read_batches, require_pyarrow, unpacked_bytes
from sumpool.data.sources._base import Fields, Split
from sumpool.data.sources._fields import FieldsSourceConfig
from sumpool.documents.document import Limits
from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular

_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20
"""Read-ahead per column; without a buffer, pyarrow reads whole row groups."""


@final
class ParquetSourceConfig(FieldsSourceConfig):
    """Parquet files, for all splits or per split."""

    kind: Literal["parquet"] = "parquet"

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files that match each pattern in alphabetical order, with their splits.

        Raises:
            DataError: If a pattern matches no file.
        """
        for pattern, split in super().paths():
            root = Path(pattern.anchor)
            paths = [pattern] if pattern.exists() else sorted(root.glob(str(pattern.relative_to(root))))
            if not paths:
                raise DataError(f"{pattern} must name a file, got none; check data.source.{split or 'path'}")
            yield from ((path, split) for path in paths)

    def files(self) -> Iterator[Path]:
        """List all files.

        Raises:
            DataError: If a pattern matches no file.
        """
        yield from (path for path, _ in self.paths())

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a file, guessing those that are not set.

        Raises:
            DataError: If the file is damaged or not Parquet, or lacks a column.
            RecipeError: If pyarrow is not installed.
        """
        return self.guess_columns(_open(path, self.limits).schema_arrow.names, path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the columns of the given fields row by row.

        Raises:
            DataError: If the file is damaged.
        """
        errors = require_pyarrow(self.kind)
        names = [name for name in (fields.document, fields.summary, fields.id) if name]
        file, number = _open(path, self.limits), 0
        try:
            batches = file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False)
            for row in read_batches(batches, names, str(path)):
                number += 1
                yield row
        except (OSError, errors) as error:
            raise DataError(
                f"{path} must be complete, got: {first_line(error)} after row {number}; get the file again"
            ) from error
        finally:
            file.close()


def _open(path: Path, limits: Limits) -> Any:  # noqa: ANN401 - pyarrow is untyped
    errors = require_pyarrow("parquet")
    from pyarrow import parquet

    try:
        with open_regular(path) as opened:
            size = os.fstat(opened.fileno()).st_size
        file = parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)
        limits.check_ratio(unpacked_bytes(file.metadata), size)
    except (OSError, errors) as error:
        raise DataError(f"{path} must be a Parquet file, got: {first_line(error)}; get the file again") from error
    except ValueError as error:
        raise DataError(f"{path} {error}") from error
    return file
