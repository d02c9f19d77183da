"""arXiv articles with their abstracts, in the format of Cohan et al. (2018)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.data.sources._cohan import cohan_files, cohan_rows


@final
class ArxivSourceConfig(SourceConfig):
    """arXiv articles; the summary is the abstract."""

    kind: Literal["arxiv"] = "arxiv"
    path: Path
    """Folder with train.txt, val.txt and test.txt, each optionally compressed (.gz, .zst)."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles of all splits; each section becomes a paragraph.

        Raises:
            DataError: If a file is missing or truncated.
        """
        yield from cohan_rows(self.path)

    def files(self) -> Iterator[Path]:
        """List the three files."""
        for path, _ in cohan_files(self.path):
            yield path
