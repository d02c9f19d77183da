import json
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from sumpool.errors import ResourceError
from sumpool.inference.summarizer import Summarizer
from sumpool.inference.summary import Summary
from sumpool.service.app import build_app
from sumpool.service.protection import ServiceLimits
from tests.conftest import story

ROUTE = "/v1/summaries"
STREAM = f"{ROUTE}/stream"


@pytest.fixture(scope="module")
def client(summarizer: Summarizer) -> Iterator[TestClient]:
    with TestClient(build_app(summarizer, "random", 12, limits=ServiceLimits(documents=3))) as connected:
        yield connected


def test_summaries_are_those_of_the_api(client: TestClient, summarizer: Summarizer) -> None:
    texts = [story(number, 12) for number in range(3)]
    answer = client.post(ROUTE, json={"texts": texts, "mode": "extractive", "length": "20w"})
    expected = summarizer.summarize(texts, mode="extractive", length="20w")
    summaries = answer.json()["summaries"]
    assert [summary["text"] for summary in summaries] == [result.text for result in expected]
    assert [summary["id"] for summary in summaries] == ["1", "2", "3"]
    for summary, text in zip(summaries, texts, strict=True):
        assert summary["mode"] == "extractive"
        assert [summary["words"], summary["document_words"]] == [len(part.split()) for part in (summary["text"], text)]
        for sentence in summary["sentences"]:
            start, end = sentence["span"]
            assert " ".join(text[start:end].split()) == sentence["text"]


@pytest.mark.parametrize(
    ("charset", "declared", "word"),
    [
        ("utf-8", "", "gr\xf6\xdfe"),
        ("latin-1", "", "gr\xf6\xdfe"),
        ("latin-1", "; charset=ISO-8859-1", "gr\xf6\xdfe"),
        ("koi8-r", "; charset=koi8-r", "\u0440\u0435\u043a\u0430"),
    ],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_form_in_the_encoding_of_addresses(
    client: TestClient, charset: str, declared: str, word: str, escaped: bool
) -> None:
    text = f"{story(1, 6)} It's 50 % of the {word}" + (" & more." if escaped else ".")
    asked = {"text": text, "length": "1s", "mode": "extractive"}
    pairs = "&".join(f"{name}={value}" for name, value in asked.items()).replace("%", "%25")
    body = urlencode(asked, encoding=charset) if escaped else pairs
    headers = {"Content-Type": f"application/x-www-form-urlencoded{declared}"}
    answer = client.post(ROUTE, content=body.encode(charset), headers=headers).json()
    assert answer["summaries"] == client.post(ROUTE, json=asked).json()["summaries"]


def test_file_with_the_type_that_curl_gives_it_is_a_file(client: TestClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    content = f"<html><p>a=b {story(1, 6)}</p></html>".encode()
    (summary,) = client.post(f"{ROUTE}?mode=extractive", content=content, headers=headers).json()["summaries"]
    assert summary["text"]
    assert "<p>" not in summary["text"]


def test_byte_order_mark_before_json_is_passed_over(client: TestClient) -> None:
    body = "\ufeff" + json.dumps({"text": story(1, 6)})
    assert client.post(ROUTE, content=body.encode(), headers={"Content-Type": "application/json"}).status_code == 200


@contextmanager
def listening(app: FastAPI, **options: Any) -> Iterator[int]:  # noqa: ANN401 - those of uvicorn
    """Port of an application behind a socket, as the client of the tests waits for whole answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", **options))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


class Slow:
    """A model that gives some summaries, waits for `leave` before the next one, and fails."""

    def __init__(self, error: Exception, *summaries: Summary) -> None:
        self.error, self.summaries = error, iter(summaries)
        self.entered, self.leave = threading.Event(), threading.Event()

    def summarize(self, *_: object, **__: object) -> list[Summary]:
        for summary in self.summaries:
            return [summary]
        self.entered.set()
        self.leave.wait(20)
        raise self.error

    def app(self, **limits: Any) -> FastAPI:  # noqa: ANN401 - fields of the limits
        return build_app(cast(Summarizer, self), "slow", 0, limits=ServiceLimits(**limits))


def events(stream: str) -> list[tuple[str, Any]]:
    """Names and contents of server-sent events."""
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in stream.split("\n\n") if block]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


def test_a_stream_has_an_event_for_each_document(client: TestClient) -> None:
    asked = {"texts": [story(number, 12) for number in range(2)] + [""], "length": "20w"}
    answer = client.post(STREAM, json=asked)
    assert answer.headers["content-type"].startswith("text/event-stream")
    whole = client.post(ROUTE, json=asked).json()["summaries"]
    streamed = events(answer.text)
    assert [name for name, _ in streamed] == ["summary"] * 3
    assert [summary for _, summary in streamed[:2]] == whole[:2]
    assert streamed[2][1]["reason"] == whole[2]["reason"] != ""


def test_events_come_one_by_one() -> None:
    slow = Slow(ResourceError("memory must suffice"), Summary("1", "a.", None, 1, 1, mode="extractive"))
    content = json.dumps({"texts": ["a b.", "c d.", "e f."]}).encode()
    with listening(slow.app()) as port:
        address = f"http://127.0.0.1:{port}{STREAM}"
        request = urllib.request.Request(address, content, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.readline() == b"event: summary\n"
            slow.leave.set()  # the second summary ends only now
            rest = "event: summary\n" + answer.read().decode()
    names, contents = zip(*events(rest), strict=True)
    assert names == ("summary", "error")
    assert contents[1] == {"error": "memory must suffice"}


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
def test_evidence_has_the_document(client: TestClient, mode: str) -> None:
    text = story(4, 12)
    (plain,) = client.post(ROUTE, json={"text": text, "mode": mode}).json()["summaries"]
    (summary,) = client.post(ROUTE, json={"text": text, "mode": mode, "evidence": True}).json()["summaries"]
    file = client.post(f"{ROUTE}?mode={mode}&evidence=true", content=f"<p>{text}</p>".encode())
    assert plain["evidence"] is None
    assert summary["text"] == plain["text"]
    for answer in (summary, file.json()["summaries"][0]):
        document, sentences = answer["evidence"]["document"], answer["evidence"]["sentences"]
        assert [entry["sentence"] for entry in sentences] == [sentence["text"] for sentence in answer["sentences"]]
        for source in (source for entry in sentences for source in entry["sources"]):
            assert " ".join(document[source["start"] : source["end"]].split()) == source["text"]
    assert summary["evidence"]["document"] == text


def test_wrong_requests_are_no_streams(client: TestClient) -> None:
    assert client.post(STREAM, json={"text": "a", "texts": []}).status_code == 422
    (event,) = events(client.post(STREAM, json={"text": "a b. c d.", "length": "5x"}).text)
    assert event[0] == "error"
    assert event[1]["error"].startswith("length must be auto, short, medium, long, or like 150w")


def test_key_points_sections_focus_and_digests(client: TestClient) -> None:
    page = (
        b"<h1>T</h1><h2>Hosts</h2><p>Hosts send packets to it.</p><h2>Gateways</h2><p>Gateways drop some of them.</p>"
    )
    asked = "key_points=1&sections=true&focus=gateways&length=1s"
    (answer,) = client.post(f"{ROUTE}?{asked}", content=page).json()["summaries"]
    assert answer["text"] == "Gateways drop some of them."
    assert [point["text"] for point in answer["key_points"]] == ["Hosts send packets to it."]
    assert [(section["heading"], section["level"]) for section in answer["sections"]] == [("Hosts", 1), ("Gateways", 1)]
    texts = ["Hosts send packets to it.", "The orchard grows apples."]
    (digest,) = client.post(ROUTE, json={"texts": texts, "together": True, "evidence": True}).json()["summaries"]
    assert digest["text"] == f"{texts[0]} [1]\n\n{texts[1]} [2]"
    assert [entry["sources"][0]["document"] for entry in digest["evidence"]["sentences"]] == ["1", "2"]
    refused = client.post(ROUTE, json={"texts": ["Hosts send packets.", " "], "together": True})
    assert (refused.status_code, refused.json()["error"]) == (422, "2 must hold text, got none")


def test_a_form_has_files_and_options(client: TestClient, summarizer: Summarizer, tmp_path: Path) -> None:
    paths = [tmp_path / "page.html", tmp_path / "rows.csv"]
    paths[0].write_text(f"<html><title>t</title><body><p>{story(2, 6)}</p></body></html>")
    paths[1].write_text(f'text\n"{story(1, 3)}"\n')
    files = [("file", (path.name, path.read_bytes(), "application/octet-stream")) for path in paths]
    form = {"text": story(3, 6), "length": "20w", "mode": "extractive", "evidence": ""}
    summaries = client.post(ROUTE, data=form, files=files).json()["summaries"]
    assert [summary["id"] for summary in summaries] == ["1", "page.html", "rows.csv:2"]
    expected = summarizer.summarize([form["text"], *paths], length="20w", mode="extractive")
    assert [summary["text"] for summary in summaries] == [result.text for result in expected]
    assert [summary["evidence"] for summary in summaries] == [None] * 3
    streamed = events(client.post(STREAM, data=form, files=files).text)
    assert [summary for _, summary in streamed] == summaries


def test_a_form_of_a_browser_has_empty_fields(client: TestClient, summarizer: Summarizer) -> None:
    files = [("file", ("", b"", "application/octet-stream"))]
    form = {"text": story(3, 6), "length": "", "mode": "", "evidence": "true"}
    (summary,) = client.post(f"{ROUTE}?mode=extractive", data=form, files=files).json()["summaries"]
    assert summary["text"] == summarizer.summarize(form["text"], mode="extractive").text
    assert summary["evidence"]["document"] == form["text"]


def test_large_files_of_a_form_stay_in_memory(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", None)
    content = story(3, 6).encode() + b" " * 2**21
    assert client.post(ROUTE, files={"file": ("a.txt", content)}).status_code == 200


def test_wrong_forms_get_one_sentence(client: TestClient) -> None:
    for form, files, reason in (
        ({"text": ""}, {"file": ("", b"")}, "a request must have 1 to 3 documents, got 0"),
        ({"text": ["a b."] * 4}, {"file": ("", b"")}, "a request must have 1 to 3 documents, got 4"),
        ({"text": "a b.", "lenght": "5s"}, {"file": ("", b"")}, "lenght: Extra inputs are not permitted"),
        ({}, {"file": ("b.csv", b"\x00")}, "b.csv must"),
    ):
        answer = client.post(ROUTE, data=form, files=files)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(reason)
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        answer = client.post(ROUTE, content=b"a b. c d.", headers={"Content-Type": kind})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("the body must be a form, got a damaged one: ")


def test_wrong_requests_get_one_sentence(client: TestClient) -> None:
    for content, reason in (
        ('{"text": "a", "mode": "best"}', "mode: Input should be 'extractive' or 'abstractive'"),
        ('{"text": "a", "lenght": "5s"}', "lenght: Extra inputs are not permitted"),
        ('{"text": "a b. c d.", "length": "5x"}', "length must be auto, short, medium, long, or like 150w"),
        ('{"text": 3}', "text: Input should be a valid string"),
        ('{"text": "a", "texts": []}', "the body must have text or texts, got both or none"),
        ("{}", "the body must have text or texts, got both or none"),
        ('{"texts": []}', "a request must have 1 to 3 documents, got 0"),
        ('{"texts": ["a", "b", "c", "d"]}', "a request must have 1 to 3 documents, got 4"),
        ('{"text": ""}', "the document must hold text, got none"),
        ("{", "the body must be JSON with 1 to 3 documents, got: Expecting property name"),
        ('{"texts": [' + "0, " * 100 + "0]}", "the body must be JSON with 1 to 3 documents, got: more than 19 values"),
    ):
        answer = client.post(ROUTE, content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, list(answer.json())) == (422, ["error"])
        assert answer.json()["error"].startswith(reason)


def test_long_texts_are_refused(summarizer: Summarizer) -> None:
    rows = "text\n" + "a b.\n" * 10
    with TestClient(build_app(summarizer, "random", 12, limits=ServiceLimits(documents=3, characters=9))) as small:
        answers = [
            small.post(ROUTE, json={"texts": ["a b c", "d e f"]}),
            small.post(ROUTE, content=b"a b c. d e f."),
            small.post(f"{ROUTE}?name=a.csv", content=rows.encode()),
        ]
    assert [answer.status_code for answer in answers] == [413, 413, 422]
    assert answers[0].json() == {"error": "the text must have at most 9 characters, got 10"}
    assert answers[2].json() == {"error": "a request must have 1 to 3 documents, got 4"}  # no more are read


def test_the_suffix_of_a_file_decides_where_its_content_does_not(client: TestClient) -> None:
    rows = f'text\n"{story(1, 3)}"\n"{story(2, 3)}"\n'
    assert [s["id"] for s in client.post(ROUTE, content=rows).json()["summaries"]] == ["the file"]
    answer = client.post(f"{ROUTE}?name=a/rows.csv", content=rows).json()
    assert [summary["id"] for summary in answer["summaries"]] == ["a/rows.csv:2", "a/rows.csv:3"]
    image = b"\x89PNG\r\n\x1a\n" + bytes(100)
    for name, content, reason in (("b.csv", b"\x00", "b.csv must"), ("c", image, "c must be text or one of")):
        answer = client.post(f"{ROUTE}?name={name}", content=content)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(reason)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ResourceError("memory must suffice"), 503, "memory must suffice"),
        (KeyError("secret text"), 500, "this is a bug in sumpool; the service continues"),
    ],
)
def test_errors_of_the_model(error: Exception, status: int, reason: str) -> None:
    slow = Slow(error)
    slow.leave.set()
    with TestClient(slow.app(), raise_server_exceptions=False) as broken:
        answer = broken.post(ROUTE, json={"text": "a b c."})
        assert (answer.status_code, answer.json()) == (status, {"error": reason})
        assert events(broken.post(STREAM, json={"text": "a b c."}).text) == [("error", {"error": reason})]
        assert broken.get("/health").json() == {"status": "ok"}


def test_a_full_queue_refuses() -> None:
    slow = Slow(ResourceError("ended"))
    with TestClient(slow.app(waiting=2)) as client, ThreadPoolExecutor(3) as threads:

        def ask() -> int:
            return client.post(ROUTE, json={"text": "a b."}).status_code

        asked = [threads.submit(ask)]
        assert slow.entered.wait(20)
        asked += [threads.submit(ask), threads.submit(ask)]
        refused, waiting = wait(asked, 60, FIRST_COMPLETED)  # one of the two waits, the other one is refused
        slow.leave.set()
        assert [future.result() for future in refused] == [429]
        assert [future.result() for future in waiting] == [503, 503]


def test_late_summaries_are_given_up() -> None:
    slow = Slow(ResourceError("ended"))
    with TestClient(slow.app(seconds=0.1)) as client:
        answer = client.post(ROUTE, json={"text": "a b."})
        slow.leave.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json() == {"error": "the summaries must be there within 0.1 s; try again later"}


def test_models_metrics_and_schema(client: TestClient) -> None:
    (model,) = client.get("/v1/models").json()["data"]
    named = {"id": "random", "object": "model", "owned_by": "sumpool", "parameters": 12}
    assert model == named | {"created": model["created"]}
    before = client.get("/metrics").text
    client.post(ROUTE, json={"text": story(1, 4)})
    assert 'sumpool_answers_total{status="200"}' in client.get("/metrics").text != before
    schema = client.get("/openapi.json").json()
    assert schema["servers"] == [{"url": "/"}]
    behind_proxy = TestClient(client.app, "http://127.0.0.1", root_path="/sums")
    assert behind_proxy.get("/openapi.json").json()["servers"] == [{"url": "/sums"}]
    assert "429" in schema["paths"][ROUTE]["post"]["responses"]
    body = schema["paths"][ROUTE]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "application/octet-stream", "multipart/form-data"}
    assert client.get("/docs").status_code == 404  # its scripts would come from elsewhere


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith(kind)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        addresses = set(re.findall(r"\w+://[\w.]*", answer.text))
        assert addresses <= {"http://schemas.openxmlformats.org"}, "namespaces of XML"


def test_bodies_that_are_not_read(summarizer: Summarizer) -> None:
    limits = ServiceLimits(body_bytes=10)
    with TestClient(build_app(summarizer, "random", 12, limits=limits, token="0123456789abcdef")) as small:
        headers = {"Authorization": "Bearer 0123456789abcdef"}
        for path, given, status in (
            (ROUTE, {}, 401),
            (ROUTE, headers, 413),
            (ROUTE, headers | {"Content-Encoding": "gzip"}, 415),
            ("/health", {}, 405),
            ("/elsewhere", {}, 404),
        ):
            answer = small.post(path, content=bytes(20), headers=given)
            assert (answer.status_code, answer.headers["connection"]) == (status, "close")
        assert 'sumpool_answers_total{status="413"} 1.0' in small.get("/metrics", headers=headers).text


def test_the_token_is_asked_for_what_shows_a_model(summarizer: Summarizer) -> None:
    with TestClient(build_app(summarizer, "random", 12, token="0123456789abcdef")) as guarded:
        for path in ("/v1/models", "/metrics", "/openapi.json"):
            for given in ({}, {"Authorization": "Bearer no"}, {"Authorization": "Basic 0123456789abcdef"}):
                answer = guarded.get(path, headers=given)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert guarded.get(path, headers={"Authorization": "Bearer 0123456789abcdef"}).status_code == 200
        for path in ("/", "/health", "/page.css", "/page.js", "/sample.txt"):
            assert guarded.get(path).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://outside.example"}, 200),  # behind a proxy
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_web_pages_of_other_sites_send_nothing(client: TestClient, headers: dict[str, str], status: int) -> None:
    """They may send plain text, forms and files without asking."""
    answer = client.post(ROUTE, content=story(1, 4).encode(), headers={"Content-Type": "text/plain"} | headers)
    assert answer.status_code == status
    assert client.get("/", headers=headers).status_code == 200  # by a link


def test_hosts(summarizer: Summarizer) -> None:
    with TestClient(build_app(summarizer, "random", 12, hosts=("localhost", "[::1]", "Outside.example"))) as local:
        for host in ("localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000", "outside.example"):
            assert local.get("/health", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example:8000", "localhost:80:80", "", "[::2]"):
            answer = local.get("/health", headers={"Host": host})
            reason = "the service must be addressed as [::1] or localhost or outside.example"
            assert (answer.status_code, answer.json()) == (400, {"error": reason})


def test_much_is_held_by_few_large_requests(summarizer: Summarizer) -> None:
    limits = ServiceLimits(held_bytes=2**18)
    with TestClient(build_app(summarizer, "random", 12, limits=limits)) as small:
        answer = small.post(ROUTE, json={"text": "a b. " * 2**16})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        assert small.post(ROUTE, json={"text": story(1, 4)}).status_code == 200  # nothing is held any more


def test_forms_with_many_escapes_are_refused(client: TestClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post(ROUTE, content=f"text={quote('ä') * 800_000}", headers=headers)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("a form of this type must have at most 4,194,304 bytes")
