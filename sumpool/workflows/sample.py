"""`sumpool sample`: one document of the bundled sample."""

import re

from sumpool.data.sources._base import Example
from sumpool.data.sources.rfc import RfcSourceConfig
from sumpool.errors import DataError


def sample_document(name: str) -> Example:
    """Return a bundled document with its reference summary, by an id such as "RFC2587"; case does not matter.

    Raises:
        DataError: If the sample has no such document.
    """
    number = re.fullmatch(r"RFC([1-9]\d{0,8})", name, re.IGNORECASE | re.ASCII)
    example = RfcSourceConfig().example(int(number[1])) if number else None
    if example:
        return example
    raise DataError(f"{name} must be a document of the bundled sample, such as RFC2587, got none")
