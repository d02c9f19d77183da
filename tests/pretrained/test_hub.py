"""Models by name, without a network: the hub is a function of the test."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from sumpool.errors import CheckpointError
from sumpool.pretrained import hub
from sumpool.pretrained.hub import fetch
from sumpool.progress import Progress, no_op

NAME = "somebody/bart"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Let the hub have these files of the model, or answer with an error; its cache is empty."""
    folder = tmp_path / "snapshots" / "1234"

    def download(name: str, file: str, *, revision: str) -> str:
        assert (name, revision) == (NAME, "1234")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("content")
        return str(folder / file)

    def set_answer(*files: str, error: Exception | None = None, cached: Path | None = None) -> None:
        def ask(_: object, name: str, *, timeout: float) -> SimpleNamespace:
            assert name == NAME
            assert timeout < 10
            if error:
                raise error
            return SimpleNamespace(sha="1234", siblings=[SimpleNamespace(rfilename=file) for file in files])

        def look(name: str, *, local_files_only: bool) -> str:
            assert (name, local_files_only) == (NAME, True)
            if cached is None:
                raise FileNotFoundError("not cached")
            return str(cached)

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", ask)
        monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", look)

    return set_answer


def test_only_what_an_import_reads_is_downloaded(answer: Callable[..., None]) -> None:
    answer("README.md", "config.json", "model.safetensors", "pytorch_model.bin", "vocab.json", "flax_model.msgpack")
    heard: list[Progress] = []
    folder = fetch(NAME, heard.append)
    assert folder.name == "1234"
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "vocab.json"]
    assert [progress.note for progress in heard] == [
        f"{NAME}: {name}" for name in ("config.json", "model.safetensors", "vocab.json")
    ]


def test_a_model_without_safetensors_is_refused(answer: Callable[..., None]) -> None:
    answer("config.json", "pytorch_model.bin")
    with pytest.raises(
        CheckpointError, match=r"must have model\.safetensors on the hub, got config\.json, pytorch_model"
    ):
        fetch(NAME, no_op)


def test_a_model_with_sentencepiece_alone_is_refused_before_its_weights_are_downloaded(
    answer: Callable[..., None], tmp_path: Path
) -> None:
    answer("config.json", "model.safetensors", "spiece.model")
    with pytest.raises(CheckpointError, match=r"somebody/bart on the hub must have tokenizer\.json, got spiece\.model"):
        fetch(NAME, no_op)
    assert not (tmp_path / "snapshots").exists()
    answer("config.json", "model.safetensors", "spiece.model", "tokenizer.json")
    names = sorted(path.name for path in fetch(NAME, no_op).iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json"]


def test_the_cache_is_used_without_a_network(answer: Callable[..., None], tmp_path: Path) -> None:
    answer(error=ConnectionError("no route"), cached=tmp_path)
    assert fetch(NAME, no_op) == tmp_path
    answer(error=ConnectionError("no route\nto the hub"))
    with pytest.raises(
        CheckpointError, match=r"somebody/bart must be a folder, or a model on .*the hub gave: no route$"
    ):
        fetch(NAME, no_op)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda _: None)
    with pytest.raises(CheckpointError, match=r"somebody/bart must be a folder .* pip install 'sumpool\[hub\]'"):
        fetch(NAME, no_op)
