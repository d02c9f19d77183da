"""A model that is pushed and imported again is the same; the hub is a folder of the test."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.cli.push import push
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.loading import load_model
from sumpool.pretrained import hub
from sumpool.pretrained.config import ImportOptions
from sumpool.training.weights import weights_of
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

    def create(_: object, name: str, *, private: bool, exist_ok: bool) -> None:
        assert (name, exist_ok) == (NAME, True)
        folder.mkdir(parents=True)
        (folder / ".private").write_text(str(private))

    def upload(_: object, *, repo_id: str, folder_path: Path, commit_message: str) -> None:
        assert (repo_id, commit_message) == (NAME, "Upload a model of sumpool")
        shutil.copytree(folder_path, folder, dirs_exist_ok=True)

    def info(_: object, name: str, *, timeout: float) -> SimpleNamespace:
        assert name == NAME
        assert timeout < 10
        return SimpleNamespace(
            sha="1234", siblings=[SimpleNamespace(rfilename=path.name) for path in sorted(folder.iterdir())]
        )

    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", create)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda _, file, **__: str(folder / file))
    return folder


def test_a_pushed_model_comes_back(run: Path, repository: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["push", str(run), NAME, "--precision", "fp32"])
    assert (result.exit_code, result.stdout) == (0, "https://huggingface.co/somebody/model\n")
    assert (repository / ".private").read_text() == "True"
    assert not (repository / "checkpoints").exists()
    again = import_model(NAME, tmp_path / "again")
    before, now = (weights_of(load_model(folder).model) for folder in (run, again))
    assert all(torch.equal(tensor, now[name]) for name, tensor in before.items())
    document = Document("a", story(1, 12))
    [expected], [summary] = summarize([document], run), summarize([document], again)
    assert summary.summary == expected.summary
    assert (again / "README.md").read_text() == "# random\n"


def test_a_public_model_may_be_of_another_format(run: Path, repository: Path) -> None:
    with pytest.raises(CheckpointError, match="--format huggingface must have a model with a tokenizer of"):
        push(run, NAME, format_="huggingface")
    assert not repository.exists()
    push(run, NAME, public=True)
    assert (repository / ".private").read_text() == "False"


def test_a_damaged_model_is_not_imported(run: Path, repository: Path, tmp_path: Path) -> None:
    push(run, NAME)
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


def test_what_the_hub_refuses_is_told_in_a_line(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("401 Client Error\nUnauthorized for url")

    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", refuse)
    with pytest.raises(CheckpointError, match=r"may write to .* gave: 401 Client Error; for access, hf auth login$"):
        push(run, NAME)
    monkeypatch.setattr(hub, "find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"push must have huggingface_hub, .* pip install 'sumpool\[hub\]'"):
        push(run, NAME)
