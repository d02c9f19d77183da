"""`sumpool sample`: one document of the bundled sample."""

from sumpool.data.sources._base import Example
from sumpool.data.sources.rfc import RfcSourceConfig
from sumpool.errors import DataError


def sample_document(name: str) -> Example:
    """Return a bundled document with its reference summary, by an id such as "RFC2587"; case does not matter.

    Raises:
        DataError: If the sample has no such document.
    """
    rows = (row for row in RfcSourceConfig().rows() if isinstance(row, Example))
    for row in rows:
        if row.id == name.upper():
            return row
    raise DataError(f"{name} must be a document of the bundled sample, such as RFC2587, got none")
