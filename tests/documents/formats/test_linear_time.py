"""Time of readers: linear in repetitive text, which patterns that go back and forth read in its square."""

import time
from contextlib import suppress

import pytest

from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats import load_format
from sumpool.documents.plain_text.structure import text_spans

PARTS = (
    "a ",
    "=\n",
    "From: x\n",
    "\nFrom a\n",
    "\n> a\n",
    "[a](",
    "**a**\n\n",
    "!!! ",
    "::: ",
    "<a ",
    "<p>",
    "<sup>1</sup>",
    "A. b\n",
    "\n00:01:02,000 --> 00:01:03,000\na\n",
    "begin 644 a\n",
    "-----BEGIN PGP KEY-----\n",
    "| a ",
    "\x1b[",
    "a\x08",
    " ",
    "a        b\n",
    "# a\n",
    "```a\n",
    "```",
    "[Page 1]\n",
    "a [Page 1]\n \f",
    "1.1",
    "- - ",
    ". . ",
    "===\n",
    "(a) ",
    "| ",
    "a | b\n",
    "a: b\n",
)
HEADS = {"mail": "From: a@x.org\nSubject: s\nDate: d\n\n", "html": "<p>", "subtitles": "WEBVTT\n\n"}
_SECONDS = 1e-4
"""Processor time for a character: ten times what the slowest takes."""


@pytest.mark.parametrize(
    "length", [4_000, pytest.param(40_000, marks=pytest.mark.slow), pytest.param(400_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", ["text", "markdown", "mail", "html", "subtitles", "rfc"])
def test_time_is_linear_in_repetitive_text(name: str, length: int) -> None:
    module = load_format(name)
    for part in PARTS:
        content = f"{HEADS.get(name, '')}{part * (length // len(part))}\n\nText.\n".encode()
        start = time.process_time()
        with suppress(ValueError):
            detect_format(content)
        with suppress(ValueError):
            module.parse(content, DEFAULT_OPTIONS)
        assert time.process_time() - start < max(1.0, _SECONDS * length), part


@pytest.mark.parametrize(
    "length", [4_000, pytest.param(40_000, marks=pytest.mark.slow), pytest.param(400_000, marks=pytest.mark.slow)]
)
def test_time_of_rows_is_linear_in_repetitive_text(length: int) -> None:
    for part in PARTS:
        for text in (part * (length // len(part)), f"x{part * (length // len(part))}x\n\f\n[Page 1]\nText.\n"):
            start = time.process_time()
            text_spans(text)
            assert time.process_time() - start < max(1.0, _SECONDS * length), part
