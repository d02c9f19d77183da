"""arXiv articles with their abstracts, as Cohan et al. published them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.data.sources._cohan import cohan_files, cohan_rows


@final
class ArxivSourceConfig(SourceConfig):
    """arXiv articles."""

    kind: Literal["arxiv"] = "arxiv"
    path: Path
    """Folder with train.txt, val.txt and test.txt; each also with .gz or .zst."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles of all splits; every section becomes a paragraph.

        Raises:
            DataError: If a file is missing or breaks off.
        """
        yield from cohan_rows(self.path)

    def files(self) -> Iterator[Path]:
        """Name the three files."""
        for path, _ in cohan_files(self.path):
            yield path
