"""`sumpool runs`: the runs of a folder, with their scores and states."""

from pathlib import Path

from sumpool.errors import DataError
from sumpool.runs.run_summary import RunSummary, run_folders, summarize_run


def list_runs(folder: Path) -> list[RunSummary]:
    """Summarise the runs of a folder, the newest first; damaged ones are listed too.

    Args:
        folder: Folder of run folders and of sweeps, or a run folder.

    Raises:
        DataError: If there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} must be a folder of runs, got none; sumpool train makes one")
    return sorted(map(summarize_run, run_folders(folder)), key=lambda run: (run.date, run.run), reverse=True)
