"""Rows of sources, and files of them."""

import json
from pathlib import Path

from sumpool.data.config import Example, SourceConfig


def row(name: object = "a", document: object = "A document.", summary: object = "A summary.") -> dict[str, object]:
    """Return a row of a file."""
    return {"id": name, "document": document, "summary": summary}


def write_lines(path: Path, *rows: object) -> Path:
    """Write rows as lines of JSON."""
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def examples(source: SourceConfig) -> list[Example]:
    """Return the rows of a source but those that are rejected."""
    return [row for row in source.rows() if isinstance(row, Example)]
