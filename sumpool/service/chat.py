"""`POST /v1/chat/completions`: summaries for clients that speak the chat API of OpenAI.

The document is the longest message of the user without its instruction: lines at its ends that end with a colon, name
the task, or are fences or tags. A number of words, sentences or bullets in what else the user says is the length.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError
from sumpool.inference.summarizer import Summarizer
from sumpool.io.bounded import parse_json
from sumpool.service.batching import SummaryOptions
from sumpool.service.requests import ReadRequest, RequestReader, summaries_of
from sumpool.text.language import word_count

ROUTE: Final = "/v1/chat/completions"
_MAX_VALUES: Final = 4096
_MAX_INSTRUCTIONS: Final = 16
_MAX_WORDS: Final = 60  # of an instruction
_MAX_BEGINNING: Final = 3  # words of a sentence
_TASK: Final = re.compile(r"(?i)summar(i[sz]e|y|i[sz]ation)\b|tl;?dr|zusammenfass|r[eé]sum|riassu|samenvat|摘要|总结")
_MARK: Final = re.compile(r"[\W_]*|</?\w+>|.*:")
_SENTENCE_END: Final = re.compile(r"(?<=[.:?!])[ \n]+")
_LENGTH: Final = re.compile(r"\b([1-9]\d{0,3})[ -](word|sentence|bullet)", re.IGNORECASE)


class Message(BaseModel):
    """Message of a conversation, whose parts are texts."""

    role: str
    content: str | list[dict[Literal["type", "text"], str]] | None = None

    def text(self) -> str:
        """Return the text of all parts."""
        parts = self.content if isinstance(self.content, list) else [{"text": self.content or ""}]
        return "\n\n".join(part["text"] for part in parts)


class ChatRequest(BaseModel):
    """Conversation that asks for a summary; other fields of the API are without effect."""

    messages: list[Message] = Field(min_length=1)
    n: Literal[1] = 1
    stream: bool = False


@dataclass(frozen=True)
class _ChatOptions(SummaryOptions):
    """Options of a summary, and of its answer."""

    stream: bool = False


def parse_chat(body: bytes, options: SummaryOptions) -> ReadRequest:
    """Return the document of a conversation, and what its instructions ask for."""
    try:
        tree = parse_json(body, max_values=_MAX_VALUES)
    except ValueError as error:
        raise RecipeError(f"the body must be JSON, got: {error}") from error
    asked = ChatRequest.model_validate(tree)
    texts = [message.text() for message in asked.messages if message.role == "user"]
    longest = max(texts, key=len, default="")
    instruction, document = divide(longest)
    said = _LENGTH.findall("\n".join([instruction, *(text for text in texts if text != longest)]))
    length = f"{said[-1][0]}{'w' if said[-1][1].lower() == 'word' else 's'}" if said else None
    return [Document("1", document)], _ChatOptions(options.length or length, options.mode, stream=asked.stream)


def divide(message: str) -> tuple[str, str]:
    """Divide a message into instruction and document."""
    said, text = list[str](), message.strip()
    for _ in range(_MAX_INSTRUCTIONS):
        (first, _, below), (above, _, last) = text.partition("\n"), text.rpartition("\n")
        begin = _SENTENCE_END.split(first, maxsplit=1)[0]
        if len(begin) < len(first) and _begins_with_task(begin):
            said.append(begin)
            text = text[len(begin) :].strip()
        elif below and _instructs(first):
            said.append(first)
            text = below.strip()
        elif above and _instructs(last):
            said.append(last)
            text = above.strip()
    return "\n".join(said), text


def _instructs(line: str) -> bool:
    sentences = _SENTENCE_END.split(line.strip())
    named = any(map(_begins_with_task, sentences)) or (len(sentences) == 1 and bool(_TASK.search(line)))
    return (named or bool(_MARK.fullmatch(sentences[-1]))) and word_count(line) <= _MAX_WORDS


def _begins_with_task(sentence: str) -> bool:
    return bool(_TASK.search(" ".join(sentence.split()[:_MAX_BEGINNING])))


def add_chat(app: FastAPI, summarizer: Summarizer, name: str, reader: RequestReader, count: Callable[[], None]) -> None:
    """Add the route, which counts answers; the model is always that of the service."""
    reader.parsers[ROUTE] = parse_chat

    body = {"content": {"application/json": {"schema": ChatRequest.model_json_schema()}}}

    @app.post(ROUTE, response_class=JSONResponse, openapi_extra={"requestBody": body})
    async def chat(request: Request, asked: Annotated[ReadRequest, Depends(reader.read)]) -> Response:
        """Answer a conversation that asks for a summary, in the form of OpenAI's API; `stream` sends words."""
        (document,), options = asked
        assert isinstance(options, _ChatOptions)
        own = SummaryOptions(options.length, options.mode)  # so that requests of all routes are batched together
        ((result,),) = [
            part async for part in summaries_of(request, [document], own, reader.limits) if not isinstance(part, str)
        ]
        if result.reason:
            raise DataError(result.reason)
        count()
        common = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": name}
        if options.stream:
            return StreamingResponse(_events(result.text, common), media_type="text/event-stream")
        ids = await asyncio.to_thread(summarizer.tokenizer.encode_batch, [document.text, result.text])
        read, written = map(len, ids)
        choice = {"index": 0, "message": {"role": "assistant", "content": result.text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return JSONResponse({**common, "object": "chat.completion", "choices": [choice], "usage": usage})


def _events(text: str, common: dict[str, Any]) -> Iterator[str]:
    """Yield a summary as server-sent events, a word each."""
    words = re.findall(r"\s*\S+", text)
    for delta in ({"role": "assistant", "content": ""}, *({"content": word} for word in words), {}):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None if delta else "stop"}
        chunk = {**common, "object": "chat.completion.chunk", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def error_answer(status: int, reason: str) -> dict[str, Any]:
    """Return the body of an error as clients of the chat API read it."""
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": reason, "type": kind, "param": None, "code": None}}
