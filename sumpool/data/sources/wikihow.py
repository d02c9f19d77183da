"""WikiHow (Koupaee and Wang, 2018, arXiv:1810.09305): instructions, with the bold lines of their steps as summaries.

`wikihowAll.csv` has an article per row, columns `headline` (the summary), `title` and `text`; `all_train.txt`,
`all_val.txt` and `all_test.txt` list the titles of each split without spaces. Cleaning as its authors describe it:
rows whose summary has at least three quarters of the characters of their article are left out, and so are the commas
that joining the lines of a step left behind a full stop.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.inputs import Split
from sumpool.data.sources._base import Example, SourceConfig
from sumpool.data.sources._delimited import read_header, read_rows
from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import open_bytes, read_lines_limited
from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import DataError

_TABLE = "wikihowAll.csv"
_COLUMNS = ("headline", "title", "text")
_LISTS: dict[str, Split] = {"all_train.txt": "train", "all_val.txt": "validation", "all_test.txt": "test"}
_LARGEST_SUMMARY = 0.75
"""Characters of the summary by those of the article."""


@final
class WikihowSourceConfig(SourceConfig):
    """WikiHow articles; the summary is the headline of every step."""

    kind: Literal["wikihow"] = "wikihow"
    path: Path
    """Folder with wikihowAll.csv, all_train.txt, all_val.txt and all_test.txt."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles that are in a list and remain after cleaning; the id is the location in the table.

        Raises:
            DataError: If a file is missing or damaged, or the table has other columns.
        """
        *lists, table = self.files()
        splits = {title: _LISTS[path.name] for path in lists for title in self._titles(path)}
        missing = set(_COLUMNS).difference(read_header(table))
        if missing:
            raise DataError(f"{table} must have columns {', '.join(_COLUMNS)}, got none named {min(missing)!r}")
        for line in read_rows(table):
            if isinstance(line, Reject):
                yield line
            elif example := _example(line, splits):
                yield example

    def files(self) -> Iterator[Path]:
        """List the three lists of titles and the table.

        Raises:
            DataError: If a file is missing.
        """
        for name in (*_LISTS, _TABLE):
            path = self.path / name
            if not path.is_file():
                raise DataError(
                    f"{self.path} must hold {name}, got no such file; table and lists of titles are linked from "
                    "https://github.com/mahnazkoupaee/WikiHow-Dataset"
                )
            yield path

    def notes(self) -> Iterable[str]:
        """Return the rule by which articles are left out."""
        return (
            f"articles in no list of titles and summaries of {_LARGEST_SUMMARY:.0%} of their article are left out, "
            "as in the published splits",
        )

    def _titles(self, path: Path) -> Iterator[str]:
        """Read the titles of a split."""
        with open_bytes(path) as file:
            for line in read_lines_limited(file, DEFAULT_LIMITS, str(path)):
                yield line.decode(errors="replace").strip()


def _example(line: Line, splits: dict[str, Split]) -> Example | None:
    """Return the cleaned article of a row; None if it is left out."""
    summary, title, document = (str(line.fields[name]).strip() for name in _COLUMNS)
    split = splits.get(title.replace(" ", ""))
    if split is None or not summary or len(summary) >= _LARGEST_SUMMARY * len(document):
        return None
    return Example(line.where, re.sub(r"\.+\n+,", ".\n", document).strip(), summary.replace(".,", "."), split)
