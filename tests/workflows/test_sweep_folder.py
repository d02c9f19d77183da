from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.io.manifest import Manifest
from sumpool.workflows.sweep import claim_sweep, require_sweep_folder, save_tables


def test_a_sweep_keeps_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    require_sweep_folder(folder)
    for text in ("one", "two"):
        claim_sweep(folder)
        require_sweep_folder(folder)
        save_tables(folder, text, "{}")
        (folder / f"run-{text}").mkdir()
        require_sweep_folder(folder)
    assert (folder / "table.md").read_text() == "two"


@pytest.mark.parametrize("change", ["no manifest", "foreign manifest", "run", "edited table", "own table", "file"])
def test_other_content_is_refused(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "sweep"
    if change == "file":
        folder.touch()
    else:
        claim_sweep(folder)
    match change:
        case "no manifest":
            save_tables(folder, "text", "{}")
            (folder / "manifest.json").unlink()
        case "foreign manifest":
            (folder / "manifest.json").write_text("{}")
        case "run":
            Manifest({}).write(folder)
        case "edited table":
            save_tables(folder, "text", "{}")
            (folder / "table.md").write_text("my notes")
        case "own table":
            (folder / "table.md").write_text("my notes")
    expected = r"sweep must be new, empty or the folder of a sweep, got .*: name another with --out"
    with pytest.raises(RecipeError, match=expected):
        require_sweep_folder(folder)
