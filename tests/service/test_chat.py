"""The chat API: which part of a conversation is the document, and answers in the form of OpenAI's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from sumpool.inference.summarizer import Summarizer
from sumpool.service.app import build_app
from sumpool.service.chat import ROUTE, divide
from sumpool.service.protection import ServiceLimits
from tests.conftest import story

LIMITS = ServiceLimits(body_bytes=20_000)
TEXT = story(1, 12)


@pytest.fixture
def client(summarizer: Summarizer) -> Iterator[TestClient]:
    with TestClient(build_app(summarizer, "random", 12, limits=LIMITS, token="a" * 16)) as connected:
        connected.headers["Authorization"] = f"Bearer {'a' * 16}"
        yield connected


def _user(content: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"role": "user", "content": content}


def test_answers_are_those_of_the_api(client: TestClient, summarizer: Summarizer) -> None:
    asked = [
        {"role": "system", "content": "You summarise in 9 sentences."},
        _user([{"type": "text", "text": "Summarise this:"}, {"type": "text", "text": TEXT}]),
        {"role": "assistant", "content": TEXT * 2},
        _user("Shorter, in 2 sentences please."),
    ]
    answer = client.post(ROUTE, json={"model": "gpt-5", "messages": asked, "temperature": 0.2}).json()
    assert 'sumpool_answers_total{status="200"} 1.0' in client.get("/metrics").text
    expected = summarizer.summarize(TEXT, length="2s").text
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "random"
    assert answer["id"].startswith("chatcmpl-")
    (choice,) = answer["choices"]
    assert choice == {"index": 0, "message": {"role": "assistant", "content": expected}, "finish_reason": "stop"}
    read, written = (len(summarizer.tokenizer.encode(text)) for text in (TEXT, expected))
    assert answer["usage"] == {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def test_a_stream_has_the_same_text(client: TestClient, summarizer: Summarizer) -> None:
    answer = client.post(ROUTE, json={"messages": [_user(TEXT)], "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, last, end = answer.text.split("\n\n")
    assert (last, end) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["choices"][0]["index"] for chunk in chunks} == {0}
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == summarizer.summarize(TEXT).text
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:]] == [None, "stop"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("{", 422, "the body must be JSON, got: Expecting property name"),
        ({"messages": []}, 422, "messages: List should have at least 1 item"),
        ({"messages": [_user("")]}, 422, "the document must hold text, got none"),
        ({"messages": [_user(TEXT)], "n": 2}, 422, "n: Input should be 1"),
        ({"messages": [_user([{"type": "image_url", "image_url": {}}])]}, 422, "messages.0.content"),
        ({"messages": [_user("a " * 20_000)]}, 413, "the body must have at most 20,000 bytes"),
    ],
)
def test_errors_have_the_form_of_the_api(
    client: TestClient, body: dict[str, Any] | str, status: int, message: str
) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    answer = client.post(ROUTE, content=content.encode())
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["message"].startswith(message)
    assert error == {"message": error["message"], "type": "invalid_request_error", "param": None, "code": None}


def test_clients_without_the_token_are_told_so_in_that_form(client: TestClient) -> None:
    answer = client.post(ROUTE, json={"messages": [_user(TEXT)]}, headers={"Authorization": "Bearer b"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "invalid_request_error")


@pytest.mark.parametrize(
    ("message", "instructions"),
    [
        ("{}", []),
        ("Summarize the following in two sentences.\n\n{}", ["Summarize the following in two sentences."]),
        ("Text:\n```\n{}\n```\n\nSummary:", ["Text:", "Summary:", "```", "```"]),
        ("<article>\n{}\n</article>\nGive me a TL;DR", ["<article>", "Give me a TL;DR", "</article>"]),
        ("Please summarise in 3 words: {}", ["Please summarise in 3 words"]),
        ("Schreibe eine Zusammenfassung.\n\n{}", ["Schreibe eine Zusammenfassung."]),
        ("Be brief. Summarize this.\n{}", ["Be brief. Summarize this."]),
        ("{}\n\nWhat does it say?", ["What does it say?"]),
        ("This memo summarizes routes of packets to hosts.\n\n{}", None),
        ("Gateways and routes\n\n{}", None),
        ("The first line of a text that goes\n{}", None),
    ],
)
def test_document_is_without_instructions(message: str, instructions: list[str] | None) -> None:
    lead = (
        "A gateway forwards packets between two networks, and keeps a summary of the routes that it has seen on each."
    )
    end = "Hosts send their packets to the gateway that is nearest, which drops those that came late or have no route."
    text = f"{lead} This memo says how.\n\n{end} It tells nobody."
    whole = message.format(text)
    assert divide(whole) == (([], whole) if instructions is None else (instructions, text))


def test_a_short_message_about_the_document_is_the_focus(client: TestClient, summarizer: Summarizer) -> None:
    topic = " ".join(TEXT.split(".")[7].split()[:3])
    messages = [_user(TEXT), _user(f"{topic}?")]
    answer = client.post(ROUTE, json={"messages": messages}).json()["choices"][0]["message"]["content"]
    assert answer == summarizer.summarize(TEXT, focus=f"{topic}?").text != summarizer.summarize(TEXT).text
