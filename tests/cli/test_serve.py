import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

import pytest
import torch

from sumpool.cli import serve
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.loading import load_model
from sumpool.inference.summarizer import Summarizer
from tests.conftest import story


def ask(address: str, headers: dict[str, str], body: object = None) -> HTTPResponse:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, content, {"Content-Type": "application/json", **headers})
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=60)
    return answer


def test_a_process_answers_and_logs_until_a_signal_comes(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef\n")
    authorization = {"Authorization": "Bearer 0123456789abcdef"}
    command = [sys.executable, "-m", "sumpool", "serve", "--model", str(run_folder), "--access-log"]
    options = {"SUMPOOL_PORT": "0", "SUMPOOL_TOKEN_FILE": str(tmp_path / "token"), "SUMPOOL_ROOT_PATH": "/short/"}
    with subprocess.Popen(
        command, env={**os.environ, **options}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        line = process.stderr.readline()
        address = line.split()[-1]
        try:
            with ask(f"{address}v1/summaries", authorization, {"text": story(4, 9)}) as answer:
                (summary,) = json.load(answer)["summaries"]
            with ask(f"{address}v1/models", authorization) as answer:
                (model,) = json.load(answer)["data"]
            with ask(f"{address}?name=private.pdf", {"X-Request-ID": "a-1"}) as answer:
                named = answer.headers["X-Request-ID"]
            with pytest.raises(urllib.error.HTTPError, match="401") as refused:
                ask(f"{address}v1/models", {"X-Request-ID": "a b"})
            with refused.value as error:
                given = error.headers["X-Request-ID"]
        finally:
            process.send_signal(signal.SIGTERM)
        messages, entries = process.stderr.read(), [json.loads(entry) for entry in process.stdout]
    assert line.startswith("listening on http://127.0.0.1:")
    assert summary["text"] == Summarizer.load(run_folder).summarize(story(4, 9)).text
    parameters = sum(map(torch.numel, load_model(run_folder).model.parameters()))
    assert (model["id"], model["parameters"]) == (run_folder.name, parameters)
    assert (named, len(given)) == ("a-1", 32)
    assert [(entry["method"], entry["path"], entry["status"]) for entry in entries] == [
        ("POST", "/short/v1/summaries", 200),
        ("GET", "/short/v1/models", 200),
        ("GET", "/short/", 200),
        ("GET", "/short/v1/models", 401),
    ]
    assert entries[2]["id"] == "a-1"
    assert all(entry["seconds"] >= 0 < entry["bytes"] and entry["client"] == "127.0.0.1" for entry in entries)
    assert "protocol" not in json.dumps(entries), "no word of a document"
    assert (messages, process.returncode) == (f"model: {run_folder}\nstopped by SIGTERM\n", 143)


def test_weak_tokens_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    for token in ("", "short", "with spaces in it all", "0123456789abcdé"):
        file.write_text(token)
        with pytest.raises(RecipeError, match="must hold a token of at least 16 ASCII characters without spaces"):
            serve.serve(port=0, token_file=file)
    with pytest.raises(RecipeError, match="--token-file must be a readable file with a token, got"):
        serve.serve(port=0, token_file=tmp_path)


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
