"""Checks that every source makes of its rows."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from sumpool.data.sources._base import Example, Reject, Split
from sumpool.documents.json_lines import text_of


def unique(rows: Iterable[Example | Reject], places: Mapping[str, str] | None = None) -> Iterator[Example | Reject]:
    """Turn a row whose id came before into a `Reject`."""
    del places
    seen: set[bytes] = set()
    for row in rows:
        if isinstance(row, Example):
            key = hashlib.blake2b(row.id.encode(), digest_size=16).digest()
            if key in seen:
                row = Reject(row.id, "id must be unique, got it a second time")
            seen.add(key)
        yield row


def split_of(name: str, validation: float, test: float) -> Split:
    """Draw the split of a document by a hash of its id, the same on every machine and in every order.

    Args:
        name: The id.
        validation: Share of the documents for validation, from 0 to 1.
        test: Share of the documents for testing.
    """
    draw = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
    if draw < test:
        return "test"
    return "validation" if draw < test + validation else "train"
