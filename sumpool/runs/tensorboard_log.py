"""View of a metrics log for TensorBoard; tensorboard, which is optional, is imported only when it is asked for."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors

FOLDER = "tensorboard"
_EVENTS = "events.out.tfevents.*"


def require_tensorboard() -> None:
    """Check that tensorboard is installed.

    Raises:
        RecipeError: If it is not.
    """
    if find_spec("tensorboard") is None:
        raise RecipeError(
            "train.log must name libraries that are installed, but tensorboard is not: "
            "pip install 'sumpool[tensorboard]'"
        )


class TensorboardLog:
    """Files of one process for TensorBoard, in the folder `tensorboard` of a run."""

    def __init__(self, run: Path) -> None:
        """Open the folder; files of earlier processes are removed, as a killed one may have logged repeated steps.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        from torch.utils.tensorboard import SummaryWriter

        folder = run / FOLDER
        with disk_errors(folder):
            for path in () if folder.is_symlink() else folder.glob(_EVENTS):
                path.unlink()
            self._writer = SummaryWriter(str(folder))
        self._written = 0

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the records of a metrics log that are not written yet, given all of them."""
        for record in records[self._written :]:
            group = "train" if record["kind"] == "step" else record["kind"]
            for name, value in record.items():
                if name != "step" and isinstance(value, int | float):
                    self._writer.add_scalar(f"{group}/{name}", value, record["step"])
        self._written = len(records)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
