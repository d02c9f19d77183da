"""Contract of all formats: what they return, what they refuse and how long they take."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sumpool.documents.formats
from sumpool.documents.contents import with_errors
from sumpool.documents.document import DEFAULT_OPTIONS, Document, ParsedDocument, TextBlock
from sumpool.documents.formats import FORMATS, LIBRARIES, PANDOC, load_format, missing_library
from sumpool.errors import DataError

FOLDER = Path(sumpool.documents.formats.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
NAMES = [*MODULES, *PANDOC]
SAMPLES = Path(__file__).parent / "samples"
TEXTS = st.text(max_size=300).map(lambda text: text.encode("utf-8", "ignore"))
KINDS = {"paragraph", "heading", "list_item", "table_row", "caption", "code", "notice"}


def sample(name: str) -> bytes:
    """Content of the sample of a format, samples/NAME.SUFFIX."""
    (path,) = SAMPLES.glob(f"{name}.*")
    return path.read_bytes()


def check(parsed: ParsedDocument) -> None:
    for block in parsed.blocks:
        assert block.kind in KINDS
        assert block.kind == "code" or block.text == " ".join(block.text.split())
        assert block.level > 0 or block.kind not in ("heading", "list_item")
        assert block.line is None or block.line > 0
        assert block.page is None or block.page > 0


def parse_or_refuse(name: str, content: bytes) -> None:
    """Parse content that may be invalid; any exception but the documented ones fails the test."""

    def documents() -> Iterator[Document]:
        parsed = load_format(name).parse(content, DEFAULT_OPTIONS)
        check(parsed)
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


def test_missing_library_is_named() -> None:
    assert isinstance(missing_library("pypdfium2", "PDF"), DataError)
    assert "pip install 'sumpool[documents]'" in str(missing_library("pypdfium2", "PDF"))


@pytest.mark.parametrize("name", NAMES)
def test_sample_is_parsed(name: str) -> None:
    parsed = load_format(name).parse(sample(name), DEFAULT_OPTIONS)
    check(parsed)
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
    original = sample(name)
    for seed in range(count // 4 if name in PANDOC else count):
        generator = random.Random(seed)
        content = bytearray(original)
        for _ in range(generator.randint(1, 8)):
            start = generator.randrange(len(content))
            match generator.randrange(4):
                case 0:
                    content[start] = generator.randrange(256)
                case 1:
                    del content[start : start + generator.randint(1, 40)]
                case 2:
                    content[start:start] = content[: generator.randint(1, 60)]
                case _:
                    content = content[: max(1, start)]
            content = content or bytearray(b"x")
        parse_or_refuse(name, bytes(content))


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
