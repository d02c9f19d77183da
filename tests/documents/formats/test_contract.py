"""Contract of all formats: what they return, what they refuse and how long they take."""

import io
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sumpool.documents.formats
from sumpool.documents.detection import detect_format
from sumpool.documents.document import Document, TextBlock
from sumpool.documents.formats import FORMATS, LIBRARIES, PANDOC, load_format
from sumpool.documents.formats.text import text_spans
from sumpool.documents.read import with_errors
from sumpool.errors import DataError
from tests.documents.formats.conftest import read, texts
from tests.documents.formats.office_files import docx, relationship
from tests.torture.b5_fuzzed_documents import SAMPLES, check_blocks, fuzzed

FOLDER = Path(sumpool.documents.formats.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
NAMES = [*MODULES, *PANDOC]


def sample(name: str) -> bytes:
    """Content of the sample of a format, samples/NAME.SUFFIX."""
    (path,) = SAMPLES.glob(f"{name}.*")
    return path.read_bytes()


def parse_or_refuse(name: str, content: bytes) -> None:
    """Parse content that may be invalid; any exception but the documented ones fails the test."""

    def documents() -> Iterator[Document]:
        parsed = read(name, content)
        check_blocks(parsed.blocks)
        yield Document.from_parsed(name, parsed)

    (document,) = with_errors(name, name, documents())
    assert not document.error or document.error.startswith(f"{name} must ")


def test_formats_are_listed_and_others_refused() -> None:
    assert set(NAMES) == {*FORMATS.values(), "rfc"}
    assert set(LIBRARIES) <= set(NAMES)
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


def test_libraries_are_imported_for_their_formats_only() -> None:
    script = (
        "import sys; from sumpool.documents.read import read_documents; import sumpool.documents.detection;"
        "from sumpool.documents.formats import load_format; from sumpool.documents.document import DEFAULT_OPTIONS;"
        "load_format('markdown'); load_format('html')(b'<p>text', DEFAULT_OPTIONS);"
        "names = ('docutils', 'pypandoc', 'sumpool.documents.formats._pandoc', 'trafilatura');"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", NAMES)
def test_sample_is_parsed(name: str) -> None:
    parsed = read(name, sample(name))
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
            blocks = read(name, content).blocks
        assert blocks == ()


@pytest.mark.parametrize("name", NAMES)
def test_random_content_is_parsed_or_refused(name: str) -> None:
    random_texts = st.text(max_size=300).map(lambda text: text.encode("utf-8", "ignore"))
    examples = 10 if name in PANDOC else settings().max_examples  # of which each starts a program

    @settings(suppress_health_check=list(HealthCheck), max_examples=examples)
    @given(content=st.one_of(st.binary(max_size=300), random_texts))
    def check(content: bytes) -> None:
        parse_or_refuse(name, content)

    check()


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_mutated_samples_are_parsed_or_refused(name: str, count: int) -> None:
    for number in range(count // 4 if name in PANDOC else count):
        parse_or_refuse(name, fuzzed(name, number, [sample(name)]))


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["html", "docx", "odt", "pptx", "xlsx", "epub", "mail"])
def test_mutated_documents_open_nothing(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("opened")

    def open_pipes(file: object, *arguments: object, **options: object) -> object:
        return opener(file, *arguments, **options) if isinstance(file, int) else refuse()

    def text_or_refusal(content: bytes) -> str:
        try:
            return "\n".join(["must be text", *texts(name, content)])
        except ValueError as error:
            return str(error)

    opener: Callable[..., object] = io.open
    contents = [fuzzed(name, number, [sample(name)]) for number in range(count)]
    for content in contents:  # imports the libraries, and loads the statistics of the encodings that are guessed
        text_or_refusal(content)
    with monkeypatch.context() as patch:  # pytest itself opens files when the test ends
        patch.setattr("builtins.open", refuse)
        patch.setattr(io, "open", open_pipes)  # of pandoc
        patch.setattr(socket, "socket", refuse)
        found = [text_or_refusal(content) for content in contents]
    assert all(text.startswith("must ") for text in found)
    assert not any("root:" in text for text in found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("latex", r"\documentclass{{a}}\begin{{document}}\input{{{0}}}Text.\end{{document}}"),
        ("org", "#+INCLUDE: {0}\nText.\n"),
        ("typst", '#include "{0}"\nText.\n'),
        ("mediawiki", "{{{{{0}}}}}\nText.\n"),
        ("man", ".TH A 1\n.so {0}\nText.\n"),
        ("rst", ".. include:: {0}\n\n.. literalinclude:: {0}\n\n.. csv-table::\n   :file: {0}\n\nText.\n"),
        ("rst", ".. raw:: html\n   :file: {0}\n\n.. figure:: {0}\n\nText.\n"),
    ],
)
def test_other_files_are_not_read(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words")
    found = ""
    with suppress(ValueError):
        found = " ".join(texts(name, text.format(tmp_path / "secret.txt")))
    assert "secret words" not in found
    assert "Text." in found or name == "typst"  # which has no text without the file


def test_linked_pictures_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words")
    picture = '<a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:link="p1"/>'
    content = docx(
        f"<w:p><w:r><w:drawing>{picture}</w:drawing></w:r><w:r><w:t>text</w:t></w:r></w:p>",
        relations=relationship("p1", "image", (tmp_path / "secret.txt").as_uri(), 'TargetMode="External"'),
    )
    assert texts("docx", content) == ["text"]


_SECONDS = 1e-4
"""Processor time for a character: ten times what the slowest takes."""
PARTS = ["a ", "=\n", "=-", "From: x\n", "\nFrom a\n", "\n> a\n", "[a](", "**a**\n\n", "!!! ", "::: ", "<a ", "<p>"]
PARTS += ["<sup>1</sup>", "A. b\n", "a.", "\n00:01:02,000 --> 00:01:03,000\na\n", "begin 644 a\n", "(", "[", "\\", "`"]
PARTS += ["-----BEGIN PGP KEY-----\n", "| a ", "\x1b[", "a\x08", " ", "a        b\n", "# a\n", "```a\n", "```", "* "]
PARTS += ["[Page 1]\n", "a [Page 1]\n \f", "1.1", "- - ", ". . ", "===\n", "(a) ", "| ", "a | b\n", "a: b\n"]
PARTS_OF = {
    "html": [
        *["<table><tr><td>x", "<blockquote type=cite>", "<b><font size=1>x", "<ul><li>x", "<a href=#a><sup>1", "<br>"],
        *["<div id=nav><h2>x", "<!--", "<p>x</div></b>", "<style>@media a{", "<x y/>", "&amp;&nbsp;", "<"],
    ],
    "mail": [
        *["--\n", "-- x\nwords\n", "flowed words \n", "On 1 wrote ", "On 1\n", "> ", "_", "sent from my "],
        *["> x\n\nOn 2 Nov Bob wrote:\n", "-----BEGIN PGP SIGNATURE-----\n", "mailing list "],
    ],
}
HEADS = {
    "mail": ["From: a@x.org\nSubject: s\nDate: d\n\n", "From: a@x.org\nContent-Type: text/plain; format=flowed\n\n"],
    "html": ["<p>x", "<html xmlns='http://www.w3.org/1999/xhtml'><p>x"],
    "subtitles": ["WEBVTT\n\n"],
}


@pytest.mark.parametrize(
    "length", [4_000, pytest.param(40_000, marks=pytest.mark.slow), pytest.param(400_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", ["text", "markdown", "mail", "html", "subtitles", "rfc"])
def test_time_is_linear_in_repetitive_text(name: str, length: int) -> None:
    """Patterns that go back and forth would take minutes for it."""
    heads = HEADS.get(name, [""])
    for head, part in [*product(heads[:1], PARTS), *product(heads, PARTS_OF.get(name, []))]:
        repeated = part * (length // len(part))
        content = f"{head}{repeated}\n\nText.\n".encode()
        start = time.process_time()
        with suppress(ValueError):
            detect_format(content)
        with suppress(ValueError):
            read(name, content)
        assert time.process_time() - start < max(1.0, _SECONDS * length), part
        if name == "text":  # of a row
            start = time.process_time()
            list(text_spans(f"x{repeated}x\n\f\n[Page 1]\nText.\n"))
            assert time.process_time() - start < max(1.0, _SECONDS * length), part


@pytest.mark.parametrize("length", [1_000, pytest.param(30_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["rst", "man", "mdoc"])
def test_hostile_lines_are_read(name: str, length: int) -> None:
    parse_or_refuse(name, sample(name) * (length // 1_000))
    for part in ("(", "> ", "* ", "a.", "\\", "[", "`", "|", "=-", "-" * 70 + "x", "\n.SH ", "\n=====", " "):
        line = part * (length // len(part)) + "x"
        parse_or_refuse(name, f"Title\n\n{line}\n\n{line}\n".encode())
