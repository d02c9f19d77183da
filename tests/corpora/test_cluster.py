"""Corpora on a local Ray cluster; kills of its workers are figure A9 of `tests/torture`."""

import json
import multiprocessing
import shutil
from pathlib import Path

import pytest

from sumpool.corpora.summarize import CorpusJob
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.errors import CheckpointError, Interrupted, ResourceError
from sumpool.progress import Progress
from sumpool.workflows.summarize_corpus import summarize_corpus
from tests.conftest import story
from tests.training.several import free_port


def job(folder: Path, run: Path) -> CorpusJob:
    (folder / "rows.jsonl").write_text("".join(json.dumps({"document": story(n, 5)}) + "\n" for n in range(40)))
    overrides = ("summarize.beams=1",)
    return CorpusJob(("rows.jsonl",), run, overrides, DEFAULT_OPTIONS, folder / "out")


def test_an_address_without_a_cluster_is_refused(
    tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ResourceError, match=r"must be local or the address of a cluster.*ray\.log may have more"):
        summarize_corpus(job(tmp_path, run_folder), address=f"localhost:{free_port()}")


def test_an_error_of_a_worker_ends_the_command(
    tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    content = (run / "model.safetensors").read_bytes()
    (run / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match=r"model\.safetensors must hold"):
        summarize_corpus(job(tmp_path, run), address="local", workers=1)


def test_the_end_of_ray_is_an_error_which_the_command_goes_on_after(
    tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def kill(progress: Progress) -> None:
        if progress.note.startswith("parts to summarise"):
            (ray,) = multiprocessing.active_children()
            ray.kill()

    with pytest.raises(ResourceError, match=r"Ray must work until all parts are done.*ray\.log has why"):
        summarize_corpus(job(tmp_path, run_folder), address="local", report=kill)


def test_an_interrupted_command_ends_at_once(tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        summarize_corpus(job(tmp_path, run_folder), address="local", check=stop)
