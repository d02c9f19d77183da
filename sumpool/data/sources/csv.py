"""CSV: a header line with the names of the columns, then one document with its summary per row.

Cells are quoted as spreadsheets do it; files may be compressed (.gz, .zst).
"""

from pathlib import Path
from typing import Literal, final

from pydantic import Field

from sumpool.data.sources._delimited import SEPARATORS, DelimitedSourceConfig, read_header


@final
class CsvSourceConfig(DelimitedSourceConfig):
    """CSV files, one for all splits or one per split."""

    kind: Literal["csv"] = "csv"
    delimiter: str = Field(",", pattern=r'^[^"\r\n]$')
    """Character between two cells; `;` in files of spreadsheets in many countries."""

    def separator(self) -> str:
        """Return the delimiter."""
        return self.delimiter


def guess_delimiter(path: Path) -> str:
    """Return the usual delimiter that splits the header of a file into the most columns.

    Raises:
        DataError: If the file or its header cannot be read.
    """
    return max(SEPARATORS, key=lambda separator: len(read_header(path, separator)))
