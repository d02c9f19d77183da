"""A model that is exported and imported again is the same; the hub is a folder of the test."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch

from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.loading import load_model
from sumpool.pretrained.config import ImportOptions
from sumpool.training.weights import weights_of
from sumpool.workflows.export_model import export_model
from sumpool.workflows.import_model import import_model
from sumpool.workflows.summarize import summarize
from tests.conftest import story

NAME = "somebody/model"


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    (run / "README.md").write_text("# random\n")
    return run


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only repository of the hub."""
    folder = tmp_path / "snapshots" / "1234"

    def info(_: object, name: str, *, timeout: float) -> SimpleNamespace:
        assert name == NAME
        assert timeout < 10
        return SimpleNamespace(
            sha="1234", siblings=[SimpleNamespace(rfilename=path.name) for path in sorted(folder.iterdir())]
        )

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda _, file, **__: str(folder / file))
    return folder


def test_an_exported_model_comes_back(run: Path, repository: Path, tmp_path: Path) -> None:
    export_model(run, repository, "fp32")
    again = import_model(NAME, tmp_path / "again")
    before, now = (weights_of(load_model(folder).model) for folder in (run, again))
    assert all(torch.equal(tensor, now[name]) for name, tensor in before.items())
    document = Document("a", story(1, 12))
    [expected], [summary] = summarize([document], run), summarize([document], again)
    assert summary.summary == expected.summary
    assert (again / "README.md").read_text() == "# random\n"


def test_a_damaged_model_is_not_imported(run: Path, repository: Path, tmp_path: Path) -> None:
    export_model(run, repository)
    (repository / "report.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"report\.json must hold .* it is damaged or was changed"):
        import_model(NAME, tmp_path / "again")
    (repository / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"somebody/model must have model\.safetensors on the hub, got"):
        import_model(NAME, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_options_are_for_other_models(run: Path, tmp_path: Path) -> None:
    for options, name in ((ImportOptions("blockwise", 8), None), (ImportOptions(), "mine")):
        with pytest.raises(RecipeError, match=r"--name must come with a model of Hugging Face, got .*run, a run of"):
            import_model(str(run), tmp_path / "again", options, name=name)
    assert import_model(str(run), tmp_path / "again") == tmp_path / "again"
