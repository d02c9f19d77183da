"""Libraries that stay out of `sumpool summarize`, because they are slow to import."""

from pathlib import Path

import pytest

from tests.processes.installed import run_with_imports

TEXT = "Hosts send packets. Gateways drop packets that are too long. "
HEAVY = ("nltk", "scipy", "sympy", "sklearn", "torch._dynamo", "filelock", "pyarrow", "transformers")


@pytest.mark.parametrize(("text", "heavy"), [(TEXT, ("torch", *HEAVY)), (TEXT * 20, HEAVY)])
def test_summarize_needs_no_heavy_library(tmp_path: Path, text: str, heavy: tuple[str, ...]) -> None:
    """A text that is its own summary does not even need the model."""
    (tmp_path / "document.txt").write_text(text)
    summary, imported = run_with_imports(tmp_path, "summarize", "document.txt")
    assert "packets" in summary
    assert "sumpool.cli.summarize" in imported
    assert not imported.intersection(heavy)
