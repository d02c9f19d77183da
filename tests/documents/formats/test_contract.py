"""Contract of all formats: what they return, what they refuse and how long they take."""

import io
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sumpool.documents.formats
from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, Document, TextBlock
from sumpool.documents.formats import FORMATS, LIBRARIES, PANDOC, load_format
from sumpool.documents.formats.text import text_spans
from sumpool.documents.read import with_errors
from sumpool.errors import DataError
from tests.torture.b5_fuzzed_documents import SAMPLES, check_blocks, fuzzed

FOLDER = Path(sumpool.documents.formats.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
NAMES = [*MODULES, *PANDOC]
TEXTS = st.text(max_size=300).map(lambda text: text.encode("utf-8", "ignore"))


def sample(name: str) -> bytes:
    """Content of the sample of a format, samples/NAME.SUFFIX."""
    (path,) = SAMPLES.glob(f"{name}.*")
    return path.read_bytes()


def parse_or_refuse(name: str, content: bytes) -> None:
    """Parse content that may be invalid; any exception but the documented ones fails the test."""

    def documents() -> Iterator[Document]:
        parsed = load_format(name).parse(content, DEFAULT_OPTIONS)
        check_blocks(parsed.blocks)
        yield Document.from_parsed(name, parsed)

    (document,) = with_errors(name, name, documents())
    assert not document.error or document.error.startswith(f"{name} must ")


def test_formats_are_listed() -> None:
    assert {"text", "markdown", "rfc"} <= set(NAMES)
    assert set(NAMES) <= {*FORMATS.values(), "rfc"}
    assert set(LIBRARIES) <= set(NAMES)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="must be of a supported format, got nothing"):
        load_format("nothing")


@pytest.mark.parametrize(
    ("name", "title", "library"),
    [("pdf", "pdf", "pypdfium2"), ("rst", "rst", "docutils"), ("odt", "ODT", "lxml"), ("html", "html", "trafilatura")],
)
def test_missing_library_is_named(name: str, title: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"{title} files need {library}, which is not installed: pip install 'sumpool\[documents\]'"
    with pytest.raises(DataError, match=message):
        load_format(name)


@pytest.mark.parametrize("name", NAMES)
def test_sample_is_parsed(name: str) -> None:
    parsed = load_format(name).parse(sample(name), DEFAULT_OPTIONS)
    check_blocks(parsed.blocks)
    kinds = {block.kind for block in parsed.blocks if block.text}
    assert ({"paragraph"} if name == "subtitles" else {"heading", "paragraph"}) <= kinds, kinds
    assert "Gateways" in parsed.title
    text = "\n".join(block.text for block in parsed.blocks if block.kind == "paragraph")
    assert "A gateway forwards packets between networks, and drops those that are too long." in text


@pytest.mark.parametrize("name", NAMES)
def test_empty_content_has_no_blocks(name: str) -> None:
    for content in (b"", b"\n \n", b"\xef\xbb\xbf"):
        blocks: tuple[TextBlock, ...] = ()
        with suppress(ValueError):
            blocks = load_format(name).parse(content, DEFAULT_OPTIONS).blocks
        assert blocks == ()


CONTENTS = st.one_of(st.binary(max_size=300), TEXTS)


@pytest.mark.parametrize("name", MODULES)
@settings(suppress_health_check=list(HealthCheck))
@given(content=CONTENTS)
def test_random_content_is_parsed_or_refused(name: str, content: bytes) -> None:
    parse_or_refuse(name, content)


@pytest.mark.parametrize("name", PANDOC)
@settings(suppress_health_check=list(HealthCheck), max_examples=10, deadline=None)
@given(content=CONTENTS)
def test_random_content_is_read_by_pandoc_or_refused(name: str, content: bytes) -> None:
    """Fewer contents, as each starts a program."""
    parse_or_refuse(name, content)


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_mutated_samples_are_parsed_or_refused(name: str, count: int) -> None:
    for number in range(count // 4 if name in PANDOC else count):
        parse_or_refuse(name, fuzzed(name, number, [sample(name)]))


TEXT_NAMES = [name for name in NAMES if name in ("text", "markdown", "rst", "man", "mdoc", "rfc")]
HOSTILE = ("(", "> ", "* ", "a.", "\\", "[", "`", "|", "=-", "-" * 70 + "x", "\n.SH ", "\n=====", " ")


@pytest.mark.parametrize("length", [1_000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_hostile_lines_are_read(length: int) -> None:
    """Patterns that go back and forth would take minutes for them."""
    for name in TEXT_NAMES:
        parse_or_refuse(name, sample(name) * (length // 1_000))
        for part in HOSTILE:
            line = part * (length // len(part)) + "x"
            parse_or_refuse(name, f"Title\n\n{line}\n\n{line}\n".encode())


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["html", "docx", "odt", "pptx", "xlsx", "epub", "mail"])
def test_mutated_documents_open_nothing(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, content = load_format(name), sample(name)
    text = "\n".join(block.text for block in module.parse(content, DEFAULT_OPTIONS).blocks)  # imports the libraries

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("opened")

    def open_pipes(file: object, *arguments: object, **options: object) -> object:
        return opener(file, *arguments, **options) if isinstance(file, int) else refuse()

    opener: Callable[..., object] = io.open
    contents = [fuzzed(name, number, [content]) for number in range(count)]
    for mutant in contents:  # loads the statistics of the encodings that are guessed
        with suppress(ValueError):
            module.parse(mutant, DEFAULT_OPTIONS)
    outcomes: list[str] = []
    refusals: list[str] = []
    with monkeypatch.context() as patch:  # pytest itself opens files when the test ends
        patch.setattr("builtins.open", refuse)
        patch.setattr(io, "open", open_pipes)  # of pandoc
        patch.setattr(socket, "socket", refuse)
        for mutant in contents:
            try:
                parsed = module.parse(mutant, DEFAULT_OPTIONS)
                outcomes.append("\n".join(block.text for block in parsed.blocks))
            except ValueError as error:
                refusals.append(str(error))
    assert len(outcomes) + len(refusals) == count
    assert all(refusal.startswith("must ") for refusal in refusals)
    assert text
    assert not any("root:" in outcome for outcome in outcomes)


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
        if name == "text":  # of a row
            start = time.process_time()
            list(text_spans(f"x{part * (length // len(part))}x\n\f\n[Page 1]\nText.\n"))
            assert time.process_time() - start < max(1.0, _SECONDS * length), part
