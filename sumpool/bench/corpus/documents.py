"""RFCs of mixed length for the benchmark of a corpus."""

import json
from pathlib import Path

from sumpool.data.sources._base import Example
from sumpool.data.sources.rfc import RfcSourceConfig
from sumpool.errors import RecipeError
from sumpool.io.bounded import parse_json


def choose_documents(number: int) -> list[Example]:
    """Return RFCs at equal distances in the test split ordered by length, the shortest and the longest among them.

    They are in the order of their numbers, so that lengths are mixed.

    Raises:
        RecipeError: If the bundled sample has fewer.
    """
    rows = list(RfcSourceConfig().examples("test"))
    if number > len(rows):
        raise RecipeError(f"bench.documents must be at most {len(rows)}, the RFCs of the test split, got {number}")
    return sorted(spread(rows, number), key=lambda row: int(row.id.removeprefix("RFC")))


def spread(rows: list[Example], number: int) -> list[Example]:
    """Return some documents at equal distances in the order of their lengths."""
    ordered = sorted(rows, key=lambda row: (len(row.document.split()), row.id))
    last = max(number - 1, 1)
    return [ordered[round(place * (len(ordered) - 1) / last)] for place in range(number)]


def write_documents(path: Path, rows: list[Example]) -> Path:
    """Write documents as JSON lines for `sumpool summarize`; returns the path."""
    lines = (json.dumps({"id": row.id, "document": row.document}) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_documents(path: Path) -> list[tuple[str, str]]:
    """Read id and text of each document that `write_documents` wrote."""
    rows = [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["id"], row["document"]) for row in rows]
