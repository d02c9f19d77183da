"""`POST /v1/chat/completions`: summaries for clients that speak the chat API of OpenAI.

The document is the longest message of the user without its instructions: fences, tags and lines that end with a colon
at its ends, and a paragraph or line of at most 20 words there that is not about the rest, as it shares at most half of
its content words with it. A number of words, sentences or bullets in what else the user says is the length; an
instruction or another short message that is about the document is the focus.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError
from sumpool.inference.summarizer import Summarizer
from sumpool.io.bounded import parse_json
from sumpool.service.requests import ReadRequest, RequestReader, summaries_of
from sumpool.service.schemas import SummaryOptions
from sumpool.text.language import content_words, detect_language, word_count

ROUTE: Final = "/v1/chat/completions"
_MAX_VALUES: Final = 4096
_MAX_MARKS: Final = 8  # at each end
_MAX_WORDS: Final = 20  # of an instruction
_COMPARED: Final = 200_000  # characters of a document
_MARK: Final = re.compile(r"[\W_]*|</?\w+>|.*:")
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


class _ChatOptions(SummaryOptions):
    """Options of a summary, and of its answer."""

    stream: bool = False


def parse_chat(body: bytes, options: SummaryOptions) -> ReadRequest:
    """Return the document of a conversation, and what its instructions ask for."""
    try:
        tree = parse_json(body, max_values=_MAX_VALUES)
    except ValueError as error:
        raise RecipeError(f"the body must be JSON, got: {error}") from error
    conversation = ChatRequest.model_validate(tree)
    texts = [message.text() for message in conversation.messages if message.role == "user"]
    longest = max(texts, key=len, default="")
    instructions, document = divide(longest)
    others = [*instructions, *(text for text in texts if text != longest)]
    lengths = _LENGTH.findall("\n".join(others))
    length = f"{lengths[-1][0]}{'w' if lengths[-1][1].lower() == 'word' else 's'}" if lengths else None
    topics = [text for text in others if _is_short(text) and _is_about(_LENGTH.sub("", text), document)]
    focus = topics[-1] if topics else ""
    return [Document("1", document)], _ChatOptions(
        length=options.length or length, mode=options.mode, focus=options.focus or focus, stream=conversation.stream
    )


def divide(message: str) -> tuple[list[str], str]:
    """Divide a message into instructions and document."""
    instructions, text = _without_marks(message.strip())
    for cut, separators in ((str.partition, ("\n\n", "\n", ": ")), (str.rpartition, ("\n\n", "\n"))):
        for separator in separators:  # a paragraph, a line or what ends with a colon
            above, _, below = cut(text, separator)
            part, rest = (above, below) if cut is str.partition else (below, above)
            is_whole = separator != "\n" or not above[-1:].isalnum()  # and not a line that goes on in the next one
            if is_whole and part and rest and _is_short(part) and not _is_about(part, rest):
                instructions.append(part)
                text = rest.strip()
                break
    marks, text = _without_marks(text)
    return [*instructions, *marks], text


def _without_marks(text: str) -> tuple[list[str], str]:
    """Divide a text into the marks at its ends, and what is between them."""
    marks = list[str]()
    for cut in (str.partition, str.rpartition) * _MAX_MARKS:
        above, _, below = cut(text, "\n")
        part, rest = (above, below) if cut is str.partition else (below, above)
        if rest and _is_short(part) and _MARK.fullmatch(part.strip()):
            marks.append(part)
            text = rest.strip()
    return marks, text


def _is_short(text: str) -> bool:
    return word_count(text) <= _MAX_WORDS


def _is_about(text: str, document: str) -> bool:
    """Return whether a text shares more than half of its content words with a document."""
    language = detect_language(document)
    words, known = (content_words(part[:_COMPARED], language) for part in (text, document))
    return 2 * len(words & known) > len(words)


def add_chat(app: FastAPI, summarizer: Summarizer, name: str, reader: RequestReader, count: Callable[[], None]) -> None:
    """Add the route, which counts answers; the model is always that of the service."""
    reader.parsers[ROUTE] = parse_chat

    body = {"content": {"application/json": {"schema": ChatRequest.model_json_schema()}}}

    @app.post(ROUTE, response_class=JSONResponse, openapi_extra={"requestBody": body})
    async def chat(request: Request, parsed: Annotated[ReadRequest, Depends(reader.read)]) -> Response:
        """Answer a conversation that asks for a summary, in the form of OpenAI's API; `stream` sends words."""
        (document,), options = parsed
        assert isinstance(options, _ChatOptions)
        batched = SummaryOptions(
            length=options.length, mode=options.mode, focus=options.focus
        )  # with requests of all routes
        (result,) = await summaries_of(request, [document], batched, reader.limits)
        if result.reason:
            raise DataError(result.reason)
        count()
        common = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": name}
        if options.stream:
            return StreamingResponse(_events(result.text, common), media_type="text/event-stream")
        ids = await asyncio.to_thread(summarizer.tokenizer.encode_batch, [document.text, result.text])
        prompt, completion = map(len, ids)
        choice = {"index": 0, "message": {"role": "assistant", "content": result.text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
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
