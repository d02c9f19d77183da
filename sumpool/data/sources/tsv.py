"""TSV: like CSV, with a tab between two cells; files may be compressed (.gz, .zst)."""

from typing import Literal, final

from sumpool.data.sources._delimited import DelimitedSourceConfig


@final
class TsvSourceConfig(DelimitedSourceConfig):
    """TSV files, one for all splits or one per split."""

    kind: Literal["tsv"] = "tsv"

    def separator(self) -> str:
        """Return a tab."""
        return "\t"
