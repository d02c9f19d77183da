"""Libraries that stay out of `sumpool summarize`, because they are slow to import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = "Hosts send packets. Gateways drop packets that are too long. "
HEAVY = ("nltk", "scipy", "sympy", "sklearn", "torch._dynamo", "filelock", "pyarrow", "transformers")


@pytest.mark.parametrize(("text", "heavy"), [(TEXT, ("torch", *HEAVY)), (TEXT * 20, HEAVY)])
def test_summarize_needs_no_heavy_library(tmp_path: Path, text: str, heavy: tuple[str, ...]) -> None:
    """A text that is its own summary does not even need the model."""
    (tmp_path / "document.txt").write_text(text)
    code = f"""
import sys
sys.argv = ["sumpool", "summarize", "document.txt"]
from sumpool.cli.app import main
try:
    main()
finally:
    print([name for name in {heavy} if sys.modules.get(name)], file=sys.stderr)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert "packets" in shown.stdout
    assert shown.stderr.endswith("[]\n")
