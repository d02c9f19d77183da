"""Scores of each document on disk: `documents.jsonl`, one line per document, appended as the evaluation proceeds.

`evaluation.json` beside it records what was evaluated, so that lines of two evaluations never end up in one file.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from sumpool.evaluation.scorer import ScoredDocument
from sumpool.io.json_lines import Identity, ResumableFile, read_records

SCORES = "documents.jsonl"
DESCRIBED = "evaluation.json"

_ADVICE = "evaluate without --resume to start over"
_LINE = TypeAdapter(ScoredDocument)


def open_scores(folder: Path, identity: Mapping[str, str], *, resume: bool) -> ResumableFile:
    """Open the `documents.jsonl` of a folder.

    Args:
        folder: The folder; made if missing.
        identity: What is evaluated and how, in plain words; must be the same to resume.
        resume: Whether to keep the complete lines of the file.

    Raises:
        DataError: If the lines of the file belong to another evaluation.
        ResourceError: If the disk is full or fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return ResumableFile(folder / SCORES, resume=resume, identity=Identity(folder / DESCRIBED, identity, _ADVICE))


def append_scores(file: ResumableFile, scored: ScoredDocument) -> None:
    """Append the scores of a document.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    file.append(_LINE.dump_json(scored).decode())


def read_scores(path: Path) -> Iterator[ScoredDocument]:
    """Read the scores of the documents in a `documents.jsonl`, one at a time.

    Raises:
        DataError: If a line is damaged.
    """
    return read_records(path, _LINE.validate_json, "a line of scores", _ADVICE)
