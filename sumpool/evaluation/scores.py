"""Results folder of an evaluation.

`documents.jsonl` has the scores of one document per line, appended as the evaluation proceeds; `evaluation.json`
records what was evaluated, so that lines of two evaluations never end up in one file. Both are written to a folder
beside that of the results, which it replaces, with `report.json` and a manifest of all files, when every document is
scored.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.scorer import ScoredDocument
from sumpool.io.atomic import TEMPORARY, disk_errors, move_into_place, replace_file, restore_folder
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.json_lines import Identity, ResumableFile, read_records
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.io.replaceable import begin_folder, is_free, other_content, require_replaceable

SCORES = "documents.jsonl"
DESCRIBED = "evaluation.json"
REPORT = "report.json"

_FILES = {SCORES, DESCRIBED, REPORT, MANIFEST}
_ADVICE = "evaluate without --resume to start over"
_OTHER_FOLDER = "choose another --out"
LINE: Final = TypeAdapter(ScoredDocument)
"""Converts the scores of a document to a line of `documents.jsonl` and back."""


def incomplete_folder(folder: Path) -> Path:
    """Return the folder of the scores of an evaluation that is not finished, beside that of its results."""
    return folder.resolve().with_name(f".{folder.resolve().name}.incomplete")


@contextmanager
def locked_results(folder: Path) -> Iterator[None]:
    """Lock the folder of the results for a block: it is missing, empty, or holds the results of an evaluation alone.

    Raises:
        RecipeError: If it, or the folder of unfinished results beside it, holds anything else, or another process
            writes it; nothing is changed.
    """
    is_free(folder, _OTHER_FOLDER)
    with disk_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with locked_for_writing(folder, _OTHER_FOLDER):
        restore_folder(folder.resolve())
        require_replaceable(folder, "evaluation", _OTHER_FOLDER)
        incomplete = incomplete_folder(folder)
        other = ""
        if not is_free(incomplete, _OTHER_FOLDER):
            names = sorted(path.name for path in incomplete.iterdir())
            unknown = (name for name in names if name.removeprefix(TEMPORARY) not in _FILES)
            other = next(unknown, "") or other_content(incomplete, "evaluation")
        if other:
            raise RecipeError(
                f"{incomplete} must hold the unfinished results of an evaluation alone, got {other}; {_OTHER_FOLDER}"
            )
        yield


def open_scores(folder: Path, identity: Mapping[str, str], *, resume: bool) -> ResumableFile:
    """Open the `documents.jsonl` of an evaluation in the folder of its unfinished results.

    Args:
        folder: Folder of the results, checked by `locked_results`.
        identity: What is evaluated and how, in plain words; must be the same to resume.
        resume: Whether to keep the scores of an unfinished evaluation, or else of a finished one.

    Raises:
        DataError: If the scores belong to another evaluation.
        ResourceError: If the disk is full or fails.
    """
    incomplete = incomplete_folder(folder)
    with disk_errors(folder):
        if resume and not incomplete.exists() and (folder / MANIFEST).exists():
            Identity(folder / DESCRIBED, identity, _ADVICE).require_same()
            begin_folder(incomplete, "evaluation")
            shutil.copyfile(folder / DESCRIBED, incomplete / DESCRIBED)
            shutil.copyfile(folder / SCORES, incomplete / SCORES)
        elif not resume or not (incomplete / MANIFEST).exists():
            shutil.rmtree(incomplete, ignore_errors=True)
            begin_folder(incomplete, "evaluation")
    described = Identity(incomplete / DESCRIBED, identity, _ADVICE)
    return ResumableFile(incomplete / SCORES, resume=resume, identity=described)


def read_scores(path: Path) -> Iterator[ScoredDocument]:
    """Read the scores of the documents in a `documents.jsonl`, one at a time.

    Raises:
        DataError: If a line is damaged.
    """
    return read_records(path, LINE.validate_json, "a line of scores", _ADVICE)


def finish_results(folder: Path, report: str, documents: int) -> None:
    """Write the report and the manifest of all files beside the scores, and replace the folder of the results.

    Raises:
        ResourceError: If the disk is full or fails; older results are as they were.
    """
    incomplete = incomplete_folder(folder)
    with disk_errors(folder):
        replace_file(incomplete / REPORT, report.encode())
        files = {name: FileDigest.of(incomplete / name) for name in (SCORES, DESCRIBED, REPORT)}
        Manifest(files, {"documents": documents}, kind="evaluation").write(incomplete)
        move_into_place(incomplete, folder.resolve())


def read_common(folders: Mapping[str, Path]) -> dict[str, list[ScoredDocument]]:
    """Read the scores of the documents that every system summarised.

    Args:
        folders: Results by the name of the system.

    Returns:
        By ID, the scores of each system in the order of the folders.

    Raises:
        DataError: If the scores were computed with different settings or from different documents, are damaged, or
            have no common documents.
    """
    first, *others = folders.values()
    for folder in folders.values():
        manifest = Manifest.read(folder, "evaluation")
        manifest.verify(folder, manifest.files)  # none of those of an unfinished evaluation
    settings = _settings(first)
    common = {scored.id: [scored] for scored in read_scores(first / SCORES)}
    for number, other in enumerate(others, 2):
        if (other_settings := _settings(other)) != settings:
            raise DataError(
                f"{other} must have been evaluated with the same settings, got {other_settings!r} and here {settings!r}"
            )
        for scored in read_scores(other / SCORES):
            if scored.id in common:
                common[scored.id].append(replace(scored, systems={"model": scored.systems["model"]}))
        common = {id: systems for id, systems in common.items() if len(systems) == number}
        if not common:
            raise DataError(f"{other} must contain documents that {first} has too, got none")
    for id, systems in common.items():
        lengths = {scored.document_words for scored in systems if scored.document_words is not None}
        if len(lengths) > 1:
            listed = " and ".join(map(str, sorted(lengths)))
            raise DataError(f"all systems must have summarised the same documents, got {id} with {listed} words")
    return common


def _settings(folder: Path) -> str:
    """Settings of ROUGE, without those of the baselines."""
    path = folder / DESCRIBED
    try:
        return str(parse_json(read_regular(path))["rouge"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{folder} must contain the results of an evaluation, got: {error!r}; evaluate what is in it first"
        ) from error
