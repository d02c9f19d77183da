"""Modules that `sumpool summarize` imports: none that is slow to import, and none of our own that it does not need."""

from pathlib import Path

import pytest

from tests.processes.installed import run_with_imports

TEXT = "Hosts send packets. Gateways drop packets that are too long. "
HEAVY = ("nltk", "scipy", "sympy", "sklearn", "torch._dynamo", "filelock", "pyarrow", "transformers")
UNUSED = (
    *("sumpool.inference.summary_choice", "sumpool.inference.summary_file", "sumpool.interpret", "sumpool.text.form"),
    *("sumpool.ranking.boosting", "sumpool.ranking.examples", "sumpool.ranking.fit", "sumpool.ranking.marks"),
)
"""Modules of generated text, of result files, and of the training of rankers."""


@pytest.mark.parametrize(("text", "heavy"), [(TEXT, ("torch", *HEAVY)), (TEXT * 20, HEAVY)])
def test_summarize_needs_no_heavy_library(tmp_path: Path, text: str, heavy: tuple[str, ...]) -> None:
    """A text that is its own summary does not even need the model."""
    (tmp_path / "document.txt").write_text(text)
    summary, imported = run_with_imports(tmp_path, "summarize", "document.txt")
    assert "packets" in summary
    assert "sumpool.cli.summary_output" in imported
    assert not imported.intersection(heavy)


@pytest.mark.parametrize(("options", "most"), [(("--fast",), 67), ((), 134)])
def test_summarize_imports_what_it_needs(tmp_path: Path, options: tuple[str, ...], most: int) -> None:
    (tmp_path / "document.txt").write_text(TEXT * 20)
    _, imported = run_with_imports(tmp_path, "summarize", "document.txt", *options)
    # The module of the command is not listed, as it is found by its name.
    ours = {name for name in imported if name.partition(".")[0] == "sumpool"}
    assert len(ours) <= most, sorted(ours)
    assert not ours.intersection(UNUSED)
    assert ("sumpool.inference.loading" in ours) == (not options)
