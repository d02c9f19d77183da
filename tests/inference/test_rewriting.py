"""Rewriting by a server of the test on the loopback: what it may change, and what stands in place of the rest."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.rewriting import Rewriter
from tests.conftest import exit_code

TEXT = (
    "# Gateways\n\nThe gateway of Delta forwards packets between 2 networks. It never drops those of Hamburg in May "
    "2024. Hosts do not see it.\n\nRouters keep a table of all routes that they know, and tell it their neighbours.\n"
)
SENTENCES = [*TEXT.split("\n\n")[1].replace(". ", ".\n").split("\n"), TEXT.split("\n\n")[2].strip()]


class Handler(BaseHTTPRequestHandler):
    """Server that answers as `reply` says, and keeps the bodies of requests."""

    reply: ClassVar[Callable[[str], str]]
    asked: ClassVar[list[dict[str, Any]]]

    def do_GET(self) -> None:
        if self.path == "/moved/models":
            self.send_response(302)
            self.send_header("Location", "/v1/models")
            self.end_headers()
            return
        self._send({"object": "list", "data": [{"id": "first"}, {"id": "second"}] if "empty" not in self.path else []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        sentence = body["messages"][1]["content"].rpartition("Sentence: ")[2]
        self._send({"choices": [{"message": {"content": type(self).reply(sentence)}}]})

    def _send(self, answer: object) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked = []
    Handler.reply = staticmethod(lambda sentence: json.dumps({"sentence": sentence}))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/v1"
        listening.shutdown()
        thread.join()


def _run(server: str, folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], str]:
    """Summary of the text by a command, and what it says on stderr."""
    (folder / "a.md").write_text(TEXT)
    file = str(folder / "a.md")
    code = exit_code("summarize", file, "--fast", "--json", "--evidence", "--rewrite", server, *words)
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out), shown.err


@pytest.mark.parametrize(
    ("number", "written", "fault"),
    [
        (1, "The gateway of Delta never drops packets of Hamburg in May 2024.", ""),
        (1, "The gateway never drops packets of Hamburg in May 2023.", "2023"),
        (1, "The gateway never drops packets of Bremen in May 2024.", "Bremen"),
        (1, "Bremen never drops those of Hamburg in May 2024.", "Bremen"),
        (1, "The gateway never drops those of Hamburg in June.", "June"),
        (3, "Delta keeps a table of all routes that they know.", "Delta"),
        (1, "Routers never drop those of Hamburg in May 2024.", ""),
        (1, "The gateway drops those of Hamburg in May 2024.", "not drops, negation"),
        (0, "The gateway of Delta does not forward packets between two networks.", "negation"),
        (0, "Delta's gateway forwards packets between two networks.", ""),
        (0, "The gateway of Delta forwards packets between three networks.", "three"),
        (3, "Routers tell their neighbours the table of all routes that they know.", ""),
        (3, "routers rain plums.", "other words"),
        (3, "It rains in June. Routers keep a table of all routes.", ""),
        (2, "The gateway of Delta forwards packets between 2 networks.", "another sentence"),
        (3, "Routers keep a table of all routes that they", "no sentence"),
        (3, "Routers keep a table and keep a table and keep a table and keep a table.", "no sentence"),
    ],
)
def test_a_sentence_with_other_facts_is_replaced(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, written: str, fault: str
) -> None:
    answers = {SENTENCES[number]: written}
    Handler.reply = staticmethod(lambda sentence: json.dumps({"sentence": answers.get(sentence, sentence)}))
    summary, messages = _run(server, tmp_path, capsys)
    shown = f"\u201c{SENTENCES[number]}\u201d" if fault else written.removeprefix("It rains in June. ")
    expected = [shown if index == number else sentence for index, sentence in enumerate(SENTENCES)]
    assert summary["summary"] == " ".join(expected)
    assert summary["mode"] == "rewritten"
    note = f"1 of 4 sentences stand as in the document: {fault}"
    assert (note in summary["notes"], note in messages) == (bool(fault), bool(fault))
    assert [entry["sentence"] for entry in summary["evidence"]] == expected
    sources = summary["evidence"][number]["sources"]
    assert SENTENCES[number] in [source["text"] for source in sources]
    for entry in summary["evidence"]:
        assert 0 < sum(source["weight"] for source in entry["sources"]) <= 1.0001
        assert not entry["unsupported"]


def test_sentences_go_with_their_neighbours_to_the_model_that_is_named(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(server, tmp_path, capsys)
    first, *_, last = Handler.asked
    assert first["messages"][1]["content"] == f"Text: {' '.join(SENTENCES[:3])}\n\nSentence: {SENTENCES[0]}"
    assert last["messages"][1]["content"] == f"Text: {' '.join(SENTENCES[1:])}\n\nSentence: {SENTENCES[3]}"
    assert (first["model"], first["temperature"]) == ("first", 0)
    written = first["response_format"]["json_schema"]["schema"]["properties"]["sentence"]
    assert written["maxLength"] == len(SENTENCES[0]) + 100  # as small models write the next sentences too
    _run(f"{server}#other", tmp_path, capsys)
    assert Handler.asked[-1]["model"] == "other"
    assert exit_code("summarize", str(tmp_path / "a.md"), "--fast", "--jobs", "2", "--rewrite", server) == 0


@pytest.mark.parametrize("content", ["no JSON", "{}", "[]", '{"sentence": null}'])
def test_without_a_rewriting_the_sentences_stay(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    Handler.reply = staticmethod(lambda _: content)
    summary, _ = _run(server, tmp_path, capsys)
    assert summary["summary"] == " ".join(f"\u201c{sentence}\u201d" for sentence in SENTENCES)


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("127.0.0.1:8080", RecipeError, "--rewrite must be an address such as http://127.0.0.1:8080/v1, got 127"),
        ("http://example.org/v1", RecipeError, "an address of this machine, got example.org; with --rewrite-remote"),
        ("http://127.0.0.1.example.org/v1", RecipeError, "must be an address of this machine, got 127.0.0.1.example.o"),
        ("http://127.0.0.1:1/v1", ResourceError, "http://127.0.0.1:1/v1 must answer as OpenAI's API, got: "),
        ("{base}/moved", ResourceError, "must answer as OpenAI's API, got: HTTP Error 302"),
        ("{base}/empty", ResourceError, "/empty must have a model, got none; load one, or name it as"),
    ],
)
def test_servers_that_cannot_serve(server: str, address: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Rewriter.open(address.format(base=server.removesuffix("/v1")))


def test_another_machine_must_be_allowed(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.inference.rewriting.is_loopback", lambda _: False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # by which nothing goes
    assert Rewriter.open(server, remote=True).model == "first"
