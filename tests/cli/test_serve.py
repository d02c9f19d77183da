import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from sumpool.cli import serve
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.loading import load_model
from sumpool.inference.summarizer import Summarizer
from tests.conftest import story


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("0123456789abcdef\n")
    return file


@pytest.fixture(scope="module")
def address(run_folder: Path, token_file: Path) -> Iterator[str]:
    """Address of a service in a process of its own, which ends with the signal."""
    command = [sys.executable, "-m", "sumpool", "serve", "--model", str(run_folder), "--access-log"]
    options = {"SUMPOOL_PORT": "0", "SUMPOOL_TOKEN_FILE": str(token_file), "SUMPOOL_ROOT_PATH": "/short/"}
    with subprocess.Popen(
        command, env={**os.environ, **options}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        line = process.stderr.readline()
        assert line.startswith("listening on http://127.0.0.1:")
        yield line.split()[-1]
        process.send_signal(signal.SIGTERM)
        assert process.stderr.read() == f"model: {run_folder}\nstopped by SIGTERM\n"
        entries = [json.loads(entry) for entry in process.stdout]
    assert [(entry["method"], entry["path"], entry["status"]) for entry in entries] == [
        ("POST", "/short/v1/summaries", 200),
        ("GET", "/short/v1/models", 200),
        ("POST", "/short/v1/summaries", 401),
        ("GET", "/short/", 200),
        ("GET", "/short/v1/models", 401),
    ]
    assert entries[3]["id"] == "a-1"
    assert all(entry["seconds"] >= 0 < entry["bytes"] and entry["client"] == "127.0.0.1" for entry in entries)
    assert "protocol" not in json.dumps(entries), "no word of a document"
    assert process.returncode == 143


def post(address: str, token: str) -> dict[str, list[dict[str, str]]]:
    request = urllib.request.Request(
        f"{address}v1/summaries",
        json.dumps({"text": story(4, 9)}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: dict[str, list[dict[str, str]]] = json.load(answer)
        return content


def test_the_service_answers_as_the_api(address: str, run_folder: Path) -> None:
    expected = Summarizer.load(run_folder).summarize(story(4, 9)).text
    assert post(address, "0123456789abcdef")["summaries"][0]["text"] == expected


def test_the_model_has_its_name_and_all_parameters(address: str, run_folder: Path) -> None:
    request = urllib.request.Request(f"{address}v1/models", headers={"Authorization": "Bearer 0123456789abcdef"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        (model,) = json.load(answer)["data"]
    shapes = load_model(run_folder).model.parameters()
    assert (model["id"], model["parameters"]) == (run_folder.name, sum(map(torch.numel, shapes)))


def test_the_token_is_required(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        post(address, "0123456789abcdeg")


def test_requests_have_ids(address: str) -> None:
    request = urllib.request.Request(f"{address}?name=private.pdf", headers={"X-Request-ID": "a-1"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["X-Request-ID"] == "a-1"
    request = urllib.request.Request(f"{address}v1/models", headers={"X-Request-ID": "a b"})
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value as error:
        assert len(error.headers["X-Request-ID"]) == 32


def test_other_addresses_need_a_token() -> None:
    for host in ("0.0.0.0", "::", "somewhere.example"):
        with pytest.raises(RecipeError, match="--host must be a loopback address without --token-file, got"):
            serve.serve(host=host, port=0)


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ResourceError, match=rf"--port must be free on 127\.0\.0\.1, got {port}: "):
            serve.serve(port=port)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"must have fastapi, which is not installed: pip install 'sumpool\[serve\]'"):
        serve.serve()


def test_weak_tokens_are_refused(tmp_path: Path) -> None:
    for token in (
        "",
        "short",
        "with spaces in it all",
        "0123456789abcdé",
    ):
        file = tmp_path / "token"
        file.write_text(token)
        with pytest.raises(RecipeError, match="must hold a token of at least 16 ASCII characters without spaces"):
            serve.serve(port=0, token_file=file)
        with pytest.raises(RecipeError, match="--token-file must be a readable file with a token, got"):
            serve.serve(port=0, token_file=tmp_path)
