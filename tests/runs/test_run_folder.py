import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.runs.run_folder import claim, exclusive


def test_a_second_run_is_refused_by_the_id_of_the_first(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        message = f"must be used by one run at a time, but process {os.getpid()} is training there"
        with pytest.raises(CheckpointError, match=message), exclusive(tmp_path):
            pass
        claim(tmp_path)  # the files of the lock are no obstacle
    with exclusive(tmp_path):
        pass
