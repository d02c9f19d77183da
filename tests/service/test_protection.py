import asyncio
from typing import Any

from sumpool.service.config import ServiceLimits
from sumpool.service.protection import Message, Protection

LIMITS = ServiceLimits(body_bytes=10, body_seconds=0.05)


def ask(
    *messages: Message, token: str = "", path: str = "/v1/summaries", hosts: str = "*", **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of the answer to a request whose body comes in these messages."""
    sent: list[Message] = []
    coming = list(messages)

    async def application(_: Message, receive: Any, send: Any) -> None:  # noqa: ANN401 - functions of ASGI
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def receive() -> Message:
        if not coming:
            await asyncio.sleep(60)
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": pairs}
    asyncio.run(Protection(application, LIMITS, token, hosts.split())(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_comes_in_parts() -> None:
    assert ask(part(b"01234", more=True), part(b"56789"), content_length="10") == (200, {}, b"0123456789")


def test_a_declared_length_is_checked_before_reading() -> None:
    for length in ("11", "9" * 5000, "-1", "1e3", ""):
        status, _, body = ask(content_length=length)
        assert (status, body) == (413, b'{"error": "the body must have at most 10 bytes, got more"}')


def test_a_long_body_is_refused_as_it_comes() -> None:
    assert ask(part(b"012345", more=True), part(b"67890", more=True))[0] == 413


def test_a_slow_body_is_refused() -> None:
    status, _, body = ask(part(b"0", more=True))
    assert (status, body) == (408, b'{"error": "the body must come within 0.05 s, got a part"}')


def test_a_client_that_leaves_gets_no_answer_of_the_application() -> None:
    assert ask(part(b"0", more=True), {"type": "http.disconnect"})[0] == 400


def test_compressed_bodies_are_refused() -> None:
    assert ask(part(b"0"), content_encoding="gzip")[0] == 415


def test_a_token_is_required() -> None:
    for given in ({}, {"authorization": "Bearer no"}, {"authorization": "secret"}):
        status, headers, _ = ask(part(b"0"), token="secret", **given)
        assert (status, headers[b"www-authenticate"]) == (401, b"Bearer")


def test_the_token_and_open_paths_are_let_through() -> None:
    assert ask(part(b"0"), token="secret", authorization="Bearer secret") == (200, {}, b"0")
    assert ask(part(b"0"), token="secret", path="/health")[0] == 200


def test_other_hosts_are_refused() -> None:
    for host in ("evil.example", "localhost.evil.example:8000", "localhost:80:80", "", "[::2]"):
        status, _, body = ask(part(b"0"), hosts="localhost [::1]", host=host)
        assert (status, body) == (400, b'{"error": "the service must be addressed as [::1] or localhost"}')


def test_hosts_of_the_service_are_let_through() -> None:
    for host in ("localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000"):
        assert ask(part(b"0"), hosts="localhost [::1]", host=host)[0] == 200
