"""Choice of the folder of prepared data, by what the data is made from and not by a name."""

from pathlib import Path

from sumpool.data.config import DataConfig
from sumpool.data.fingerprint import content_digest, fingerprint, read_origin, source_digest
from sumpool.data.prepare import prepare
from sumpool.data.report import DataReport
from sumpool.errors import DataError
from sumpool.io.lock import locked
from sumpool.io.manifest import NAME, Manifest
from sumpool.progress import Check, Progress, Report

_NAMED_DIGITS = 8
"""Digits of a fingerprint in the name of a folder."""


def find_or_prepare(
    config: DataConfig, default: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> tuple[Path, DataReport]:
    """Prepare a source of documents, unless equal data has been prepared; equal data is never prepared twice.

    Args:
        config: Source and settings.
        default: Folder for new data if `config.prepared` names none.
        skip_bad_rows: Whether to skip rows that cannot be used.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.

    Returns:
        The folder and its data report.

    Raises:
        DataError: As `prepare`.
        RecipeError: As `prepare`.
        ResourceError: As `prepare`.
    """
    preferred = config.prepared or default
    if preferred.name in ("", ".."):
        preferred = preferred.resolve()  # names beside it can be formed
    preferred.parent.mkdir(parents=True, exist_ok=True)
    lock = preferred.with_name(f".{fingerprint(config)[:_NAMED_DIGITS]}.lock")
    with locked(lock, on_busy=lambda _: check()):  # another recipe may be preparing the same data
        folder = choose_folder(config, preferred, check)
        if folder != preferred:
            report(Progress("prepare", note=f"the prepared data of these documents and settings is {folder}"))
        return folder, prepare(config, folder, skip_bad_rows=skip_bad_rows, report=report, check=check)


def choose_folder(config: DataConfig, preferred: Path, check: Check) -> Path:
    """Return the folder whose data was made from the source under the settings, or else a folder for it.

    Without `config.prepared` all folders beside the preferred one are considered. The folder of other data is never
    chosen: data of changed documents or settings goes beside it, to a name that ends in digits of its fingerprint.

    Args:
        config: Source and settings.
        preferred: Folder for new data.
        check: Called while source files are compared, because only their modification times have changed.
    """
    digest = fingerprint(config)
    beside = preferred.with_name(f"{preferred.name}-{digest[:_NAMED_DIGITS]}")
    folders = [preferred, beside] if config.prepared else [preferred, *prepared_folders(preferred.parent)]
    origins = {folder: read_origin(folder) for folder in folders}
    for folder, facts in origins.items():
        if facts.get("fingerprint") == digest:
            return folder
    without_times = fingerprint(config, times=False)
    candidates = [folder for folder, facts in origins.items() if facts.get("without_times") == without_times]
    source = source_digest(config, check) if candidates else ""
    for folder in candidates:
        if source and origins[folder].get("source") == source:
            manifest = Manifest.read(folder, "prepared data")
            facts = {**manifest.facts, "fingerprint": digest}
            Manifest(manifest.files, facts, kind="prepared data").write(folder)
            return folder
    return beside if origins[preferred] else preferred


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
