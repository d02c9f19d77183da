"""Choice of the folder of prepared data, by what the data is made from and not by a name."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sumpool.data.config import DataConfig
from sumpool.data.fingerprint import Preparable, content_digest, fingerprint, read_origin, source_digest
from sumpool.data.prepare import OTHER_FOLDER, prepare
from sumpool.data.processes import OrderedMap, ordered_map
from sumpool.data.report import DataReport
from sumpool.data.verified_data import verify_prepared
from sumpool.errors import DataError, RecipeError
from sumpool.io.lock import announced_wait, locked
from sumpool.io.manifest import NAME, Manifest
from sumpool.progress import Check, Progress, Report

_NAMED_DIGITS = 8
"""Digits of a fingerprint in the name of a folder."""


def find_or_prepare(
    config: DataConfig,
    default: Path,
    *,
    skip_bad_rows: bool,
    report: Report,
    check: Check,
    execute: OrderedMap = ordered_map,
) -> tuple[Path, DataReport]:
    """Prepare a source of documents, unless equal data has been prepared; equal data is never prepared twice.

    Args:
        config: Source and settings.
        default: Folder for new data if `config.prepared` names none.
        skip_bad_rows: Whether to skip rows that cannot be used.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.
        execute: Encodes documents in parallel.

    Returns:
        The folder and its data report.

    Raises:
        DataError: As `prepare`.
        RecipeError: As `prepare`.
        ResourceError: As `prepare`.
    """

    def make(folder: Path) -> None:
        prepare(config, folder, skip_bad_rows=skip_bad_rows, report=report, check=check, execute=execute)

    folder = find_or_make(config, default, make, report, check)
    return folder, DataReport.load(folder)


def find_or_make(config: Preparable, default: Path, make: Callable[[Path], None], report: Report, check: Check) -> Path:
    """Return the folder of the data of a source under the settings, made unless there is one.

    Args:
        config: Source and settings.
        default: Folder for new data if `config.prepared` names none.
        make: Function that prepares the data in a folder.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.
    """
    preferred = config.prepared or default
    if preferred.name in ("", ".."):
        preferred = preferred.resolve()  # names beside it can be formed
    folder = find_prepared(config, preferred, check)  # read-only data needs no lock
    if folder is None:
        preferred.parent.mkdir(parents=True, exist_ok=True)
        lock = preferred.with_name(f".{fingerprint(config)[:_NAMED_DIGITS]}.lock")
        wait = announced_wait(preferred, "prepare", report, check)
        with locked(lock, wait):  # another recipe may be preparing the same data
            folder = find_prepared(config, preferred, check)
            if folder is None:
                folder = _free_name(config, preferred)
                _note_other_name(folder, preferred, report)
                make(folder)
                return folder
    _note_other_name(folder, preferred, report)
    return folder


def find_prepared(config: Preparable, preferred: Path, check: Check) -> Path | None:
    """Return the folder whose data was made from the source under the settings; None if there is none.

    Without `config.prepared` all folders beside the preferred one are considered.

    Args:
        config: Source and settings.
        preferred: Folder for new data.
        check: Called while files are hashed.

    Raises:
        RecipeError: If the data in the folder is damaged.
    """
    digest = fingerprint(config)
    folders = (
        [preferred, _beside(config, preferred)] if config.prepared else [preferred, *prepared_folders(preferred.parent)]
    )
    origins = {folder: read_origin(folder) for folder in folders}
    folder = next((folder for folder, facts in origins.items() if facts.get("fingerprint") == digest), None)
    if folder is None:
        without_times = fingerprint(config, times=False)
        candidates = [folder for folder, facts in origins.items() if facts.get("without_times") == without_times]
        source = source_digest(config, check) if candidates else ""
        same = [folder for folder in candidates if source and origins[folder].get("source") == source]
        if not same:
            return None
        folder = same[0]
        _save_fingerprint(folder, digest)
    try:
        verify_prepared(folder, full=config.verify, check=check)
    except DataError as error:
        raise RecipeError(f"{folder} must be prepared data as it was written, got: {error}; {OTHER_FOLDER}") from error
    return folder


def _save_fingerprint(folder: Path, digest: str) -> None:
    """Save the fingerprint with the new times of the source files, unless the folder is read-only."""
    manifest = Manifest.read(folder, "prepared data")
    with suppress(OSError):
        Manifest(manifest.files, {**manifest.facts, "fingerprint": digest}, kind="prepared data").write(folder)


def _free_name(config: Preparable, preferred: Path) -> Path:
    """Return the folder for new data; that of other data is never chosen, but a name with digits of the fingerprint."""
    return _beside(config, preferred) if read_origin(preferred) else preferred


def _beside(config: Preparable, preferred: Path) -> Path:
    return preferred.with_name(f"{preferred.name}-{fingerprint(config)[:_NAMED_DIGITS]}")


def _note_other_name(folder: Path, preferred: Path, report: Report) -> None:
    if folder != preferred:
        report(Progress("prepare", note=f"the prepared data of these documents and settings is {folder}"))


def prepared_folders(root: Path) -> list[Path]:
    """List the folders of prepared data in a folder, in alphabetical order."""
    return sorted(path.parent for path in root.glob(f"*/{NAME}") if read_origin(path.parent))


def find_by_content(digest: str, root: Path) -> Path | None:
    """Return the folder of prepared data with a content digest; None if there is none in the folder."""
    for folder in prepared_folders(root):
        try:
            if content_digest(folder) == digest:
                return folder
        except DataError:
            continue
    return None
