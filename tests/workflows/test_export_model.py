import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file

from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.inference.loading import load_model
from sumpool.pretrained.config import ImportOptions
from sumpool.training.weights import weights_of
from sumpool.workflows.export_model import export_model
from sumpool.workflows.import_model import import_model
from sumpool.workflows.summarize import summarize
from tests.conftest import Stop, story


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    """A run that has ended, with what only its training needs."""
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    (run / "README.md").write_text("# random\n")
    (run / "metrics.jsonl").write_text("{}\n")
    (run / "checkpoints").mkdir()
    return run


def test_half_the_bytes_hold_what_summarising_takes(run: Path, tmp_path: Path) -> None:
    folder = export_model(run, tmp_path / "hand" / "on")
    names = {"recipe.yaml", "tokenizer.model", "report.json", "README.md"}
    assert {path.name for path in folder.iterdir()} == {*names, "model.safetensors", "manifest.json"}
    assert {weight.dtype for weight in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}
    before, now = (weights_of(load_model(each).model) for each in (run, folder))
    for name, weight in before.items():
        assert torch.equal(now[name], weight.bfloat16().float()), name
    [summary] = summarize([Document("a", story(1, 12))], folder)
    assert summary.text


def test_onnx_graphs_are_not_rounded(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="--precision must be fp32 with --format onnx, got bf16"):
        export_model(run, tmp_path / "on", "bf16", "onnx")
    assert not (tmp_path / "on").exists()


def test_files_of_others_are_not_copied(run: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    (run / "README.md").unlink()
    with pytest.raises(CheckpointError, match="its training has not ended; let it go on"):
        export_model(run, tmp_path / "on")
    (run / "README.md").symlink_to(tmp_path / "private")
    for format_ in ("safetensors", "onnx"):
        with pytest.raises(CheckpointError, match=r"README\.md must be a file of its folder, got a link to .*private"):
            export_model(run, tmp_path / "on", format_=format_)
    assert not (tmp_path / "on").exists()


def test_a_signal_leaves_nothing(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "export"
    for call in range(1, 7):
        with pytest.raises(Interrupted, match="stopped by SIGTERM; nothing was exported"):
            export_model(run, out, check=Stop(call))
        assert list(out.parent.iterdir()) == []
    assert export_model(run, out, check=Stop(7)) == out


NAME = "somebody/model"


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
    assert summary.text == expected.text
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
