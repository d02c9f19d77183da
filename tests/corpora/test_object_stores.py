"""Corpora in an object store: S3 as moto serves it on the loopback."""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from sumpool.cli.app import main
from sumpool.corpora.parts import Part, divide
from sumpool.corpora.rows import read_part
from sumpool.corpora.summarize import CorpusJob, PartSummarizer
from sumpool.documents.document import DEFAULT_OPTIONS, Document
from sumpool.documents.read import ignore_notice
from sumpool.errors import DataError
from tests.corpora.test_parts import ROWS, write

KINDS = ("a.jsonl.gz", "b.jsonl", "parquet")
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


def divided(*names: str) -> list[Part]:
    return divide(names, DEFAULT_OPTIONS, ignore_notice)


def documents(*names: str) -> list[Document]:
    return [document for part in divided(*names) for document in read_part(part, DEFAULT_OPTIONS).documents]


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
        parts = divided(f"s3://corpus/{pattern}")
        assert sorted({file for part in parts for file in part.files}) == [f"s3://corpus/{file}" for file in files]


def test_summaries_are_those_of_the_files(corpus: Path, run_folder: Path, tmp_path: Path) -> None:
    rows = []
    for number, name in enumerate((f"{corpus}/b.jsonl", "s3://corpus/2026/b.jsonl")):
        out = tmp_path / str(number)
        out.mkdir()
        job = CorpusJob((), run_folder, ("summarize.beams=1",), DEFAULT_OPTIONS, out, False)
        summarize = PartSummarizer(job, 1)
        files = [out / summarize(part).file for part in divided(name)]
        rows.append([json.loads(line) for file in files for line in file.read_text().splitlines()])
    assert len(rows[0]) == ROWS
    for local, stored in zip(*rows, strict=True):
        assert stored["summary"] == local["summary"]
        assert bool(stored["reason"]) == bool(local["reason"])


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
            divided(uri)
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
            divided("s3://corpus/2026")


@pytest.mark.usefixtures("corpus")
def test_a_file_that_disappears_is_a_document_with_the_reason() -> None:
    parts = divided("s3://corpus/2026/b.jsonl")
    system, path = fs.FileSystem.from_uri("s3://corpus/2026/b.jsonl")
    system.delete_file(path)
    with pytest.raises(DataError, match=r"s3://corpus/2026/b\.jsonl must be a file that can be read"):
        read_part(parts[0], DEFAULT_OPTIONS)


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
