"""What sources share: which split a document belongs to."""

import hashlib

from sumpool.data.sources._base import Split


def split_of(name: str, validation: float, test: float) -> Split:
    """Draw the split of a document by a hash of its id, the same on every machine and in every order.

    Args:
        name: The id.
        validation: Share of the documents for validation, from 0 to 1.
        test: Share of the documents for testing.
    """
    draw = int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest()) / 2**64
    if draw < test:
        return "test"
    return "validation" if draw < test + validation else "train"
