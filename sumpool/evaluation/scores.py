"""Results folder of an evaluation.

`documents.jsonl` has the scores of one document per line, appended as the evaluation proceeds; `evaluation.json`
records what was evaluated, so that lines of two evaluations never end up in one file. `report.json` and a manifest of
all files follow when every document is scored.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from sumpool.errors import RecipeError
from sumpool.evaluation.scorer import ScoredDocument
from sumpool.io.atomic import TEMPORARY, disk_errors, replace_file
from sumpool.io.json_lines import Identity, ResumableFile, read_records
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import FileDigest, Manifest

SCORES = "documents.jsonl"
DESCRIBED = "evaluation.json"
REPORT = "report.json"

_FILES = {SCORES, DESCRIBED, REPORT, MANIFEST}
_ADVICE = "evaluate without --resume to start over"
_LINE = TypeAdapter(ScoredDocument)


def require_results_folder(folder: Path) -> None:
    """Check that a folder may be written to: it is missing, empty, or holds the results of an evaluation and no more.

    Raises:
        RecipeError: If it is a file, or holds anything else; nothing is changed.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RecipeError(f"{folder} must be a folder for the results of an evaluation, got a file")
    names = sorted(path.name for path in folder.iterdir())
    foreign = [name for name in names if name not in _FILES and not name.startswith(TEMPORARY)]
    if names and (foreign or not _describes_evaluation(folder / DESCRIBED)):
        listed = ", ".join((foreign or names)[:3])
        raise RecipeError(
            f"{folder} must be empty or hold the results of an evaluation alone, got {listed}; choose another --out"
        )


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
    (folder / MANIFEST).unlink(missing_ok=True)  # it follows when all documents are scored
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


def finish_results(folder: Path, report: str, documents: int) -> None:
    """Write the report and the manifest of all files.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    with disk_errors(folder):
        replace_file(folder / REPORT, report.encode())
        files = {name: FileDigest.of(folder / name) for name in (SCORES, DESCRIBED, REPORT)}
        Manifest(files, {"documents": documents}, kind="evaluation").write(folder)


def verify_scores(folder: Path) -> None:
    """Compare the scores with the manifest of a finished evaluation; an unfinished one has none.

    Raises:
        DataError: If the scores or the manifest are damaged.
    """
    if (folder / MANIFEST).exists():
        Manifest.read(folder, "evaluation").verify(folder, [SCORES])


def _describes_evaluation(path: Path) -> bool:
    try:
        return "settings" in json.loads(path.read_bytes())
    except (OSError, ValueError, TypeError):
        return False
