"""The model behind the applications of these tests."""

from pathlib import Path

import pytest

from sumpool.inference.summarizer import Summarizer


@pytest.fixture(scope="session")
def summarizer(run_folder: Path) -> Summarizer:
    return Summarizer.load(run_folder)
