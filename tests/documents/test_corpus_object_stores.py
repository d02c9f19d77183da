"""Corpora in an object store: S3 as moto serves it on the loopback."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from sumpool.cli.app import main
from sumpool.documents.corpus_files import list_files, read_rows
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.read import ignore_notice
from sumpool.errors import DataError
from tests.documents.test_corpus_files import ROWS, documents, write

KINDS = ("a.jsonl.gz", "b.jsonl", "a.parquet")
SECRET = "wJalrXUtnFEMI"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a server of object stores."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def corpus(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files are in the bucket `corpus`, too, and the settings that find it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    folder = tmp_path / "corpus"
    (folder / "sub").mkdir(parents=True)
    for kind in KINDS:
        write(folder, kind)
    (folder / "sub" / "page 1.txt").write_text("A page.\n\nIt has two paragraphs.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    fs.copy_files(str(folder), "s3://corpus/2026?allow_bucket_creation=true")
    return folder


def listed(name: str) -> list[str]:
    return list_files(name, DEFAULT_OPTIONS, ignore_notice)


def test_documents_are_those_of_the_files(corpus: Path) -> None:
    for name in ("", "/b.jsonl", "/a.parquet", "/a.jsonl.gz", "/sub/page 1.txt"):
        stored, local = documents(f"s3://corpus/2026{name}"), documents(f"{corpus}{name}")
        assert [document.text for document in stored] == [document.text for document in local]
        assert [bool(document.error) for document in stored] == [bool(document.error) for document in local]
    assert len(documents("s3://corpus/2026/")) == len(KINDS) * ROWS + 1


@pytest.mark.usefixtures("corpus")
def test_wildcards_are_those_of_a_shell() -> None:
    for pattern, files in (
        ("2026/*.parquet", ["2026/a.parquet"]),
        ("20*/*.jsonl*", ["2026/a.jsonl.gz", "2026/b.jsonl"]),
        ("2026/[ab].*", ["2026/a.jsonl.gz", "2026/a.parquet", "2026/b.jsonl"]),
        ("*/sub/*.txt", ["2026/sub/page 1.txt"]),
    ):
        assert listed(f"s3://corpus/{pattern}") == [f"s3://corpus/{file}" for file in files]


@pytest.mark.usefixtures("corpus")
def test_what_is_not_there_is_one_line() -> None:
    for uri, message in (
        ("s3://corpus/2026/missing.jsonl", "must be a file or a folder that exists"),
        ("s3://corpus/2027", "must be a file or a folder that exists"),
        ("s3://no-such-bucket/2026", "must be a file or a folder that exists"),
        ("s3://corpus/2026/*.csv", "must match a file, but none of s3://corpus/2026 does"),
        ("s3://corpus/2026?region=eu-west-1", "must have no options: leave them out, and set AWS_ENDPOINT_URL"),
        (f"s3://somebody:{SECRET[:3]}/@{SECRET}@corpus/2026", "s3://...@corpus/2026 must have no password"),
        (f"s3://somebody:{SECRET}@corpus/2026", "s3://...@corpus/2026 must have no password: leave it out"),
        ("s5://corpus/2026", "must be a folder or a file that can be read, got: Unrecognized filesystem type"),
    ):
        with pytest.raises(DataError, match="must") as error:
            listed(uri)
        assert message in str(error.value)
        assert SECRET not in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.usefixtures("corpus")
def test_a_server_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        with pytest.raises(DataError, match=r"s3://corpus/2026 must be .* that can be read, got: .*NETWORK_CONNECTION"):
            listed("s3://corpus/2026")


@pytest.mark.usefixtures("corpus")
def test_a_file_that_disappears_is_a_document_with_the_reason() -> None:
    system, path = fs.FileSystem.from_uri("s3://corpus/2026/b.jsonl")
    system.delete_file(path)
    ((document, _),) = read_rows("s3://corpus/2026/b.jsonl", DEFAULT_OPTIONS)
    assert "s3://corpus/2026/b.jsonl must be a file that can be read" in document.error


@pytest.mark.usefixtures("corpus")
def test_the_command_reads_and_names_what_it_does_not_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sumpool", "summarize", "--ray", "local", "s3://corpus/2026"]
    monkeypatch.setattr(sys, "argv", [*command, "--out", "s3://corpus/out"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    line = capsys.readouterr().err.strip()
    assert "--out must be a folder that all machines of the cluster share" in line
    assert "\n" not in line
