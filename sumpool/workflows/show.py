"""`sumpool show`: one run, described from the files in its folder."""

from pathlib import Path

from sumpool.runs.run_details import RunDetails, describe_run


def show(run: Path) -> RunDetails:
    """Describe a run: recipe, data, validation curve, sample summaries and evaluations.

    Raises:
        CheckpointError: If the folder is no run folder.
    """
    return describe_run(run)
