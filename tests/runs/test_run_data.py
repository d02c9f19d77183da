import shutil
from pathlib import Path

import pytest

from sumpool.data.prepared_folder import content_digest, write_manifest
from sumpool.errors import DataError
from sumpool.io.manifest import Manifest
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.runs.run_folder import prepared_data_of


@pytest.fixture
def run(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose data lies in prepared/renamed, beside other data."""
    monkeypatch.chdir(tmp_path)
    for name in ("other", "renamed"):
        folder = tmp_path / "prepared" / name
        folder.mkdir(parents=True)
        (folder / "tokens.bin").write_text(name)
        write_manifest(folder, {"fingerprint": name}, no_op)
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    manifest = Manifest.read(run)
    Manifest(manifest.files, {**manifest.facts, "data": content_digest(tmp_path / "prepared" / "renamed")}).write(run)
    return run


def test_data_of_a_run_is_found_by_its_content(run: Path) -> None:
    assert prepared_data_of(run, load_recipe(run)) == Path("prepared/renamed")


def test_folder_of_the_recipe_and_of_the_caller_come_first(run: Path) -> None:
    assert prepared_data_of(run, load_recipe(run, ["data.prepared=prepared/other"])) == Path("prepared/other")
    with pytest.raises(DataError, match=r"prepared/typo must be the prepared data of .*run, but there is no"):
        prepared_data_of(run, load_recipe(run, ["data.prepared=prepared/typo"]))


def test_data_that_is_gone_is_named_as_in_the_recipe(run: Path) -> None:
    shutil.rmtree("prepared/renamed")
    for _ in range(2):
        with pytest.raises(DataError, match=r"prepared/random must be the prepared data of .*run, but"):
            prepared_data_of(run, load_recipe(run))
        (run / "manifest.json").write_text("{")


@pytest.mark.parametrize("verify", ["true", "false"])
def test_changed_data_is_named(run: Path, verify: str) -> None:
    recipe = load_recipe(run, [f"data.verify={verify}"])
    prepared_data_of(run, recipe)
    Path("prepared/renamed/tokens.bin").write_text("RENAMED")
    with pytest.raises(DataError, match=r"prepared/renamed/tokens\.bin must hold 7 bytes with .* it is damaged or was"):
        prepared_data_of(run, recipe)
