"""Contract of all formats: what they return, what they refuse and how long they take."""

import random
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sumpool.documents.formats
from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument, TextBlock
from sumpool.documents.formats import FORMATS, LIBRARIES, Format, load_format, missing_library
from sumpool.errors import DataError

FOLDER = Path(sumpool.documents.formats.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
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


def parse_or_refuse(module: Format, content: bytes) -> None:
    """Parse content that may be invalid; any exception but the documented ones fails the test."""
    refusal = "must "
    try:
        check(module.parse(content, DEFAULT_OPTIONS))
    except ValueError as error:
        refusal = str(error)
    assert refusal.startswith("must ")


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
    assert {"heading", "paragraph"} <= kinds, kinds
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


@pytest.mark.parametrize("name", NAMES)
def test_libraries_are_installed(name: str) -> None:
    assert all(find_spec(library) for library in LIBRARIES.get(name, ()))


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=list(HealthCheck))
@given(
    content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8", "ignore")))
)
def test_random_content_is_parsed_or_refused(name: str, content: bytes) -> None:
    parse_or_refuse(load_format(name), content)


@pytest.mark.parametrize("name", NAMES)
def test_mutated_samples_are_parsed_or_refused(name: str) -> None:
    module, original = load_format(name), sample(name)
    for seed in range(100):
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
        parse_or_refuse(module, bytes(content))


@pytest.mark.parametrize("name", [name for name in NAMES if name in ("text", "markdown", "rst", "roff", "rfc")])
def test_time_of_texts_is_linear(name: str) -> None:
    module, content = load_format(name), sample(name)
    content *= max(1, 30_000 // len(content))
    seconds = []
    for size in (1, 8):
        start = time.process_time()
        module.parse(content * size, DEFAULT_OPTIONS)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 24 * seconds[0] + 0.5


HOSTILE = [
    "(" * 20_000,
    "> " * 5_000,
    "* " * 5_000,
    "a." * 20_000,
    "\\" * 20_000,
    "[" * 20_000,
    "`" * 20_000,
    "|" * 20_000,
]


@pytest.mark.parametrize("name", [name for name in NAMES if name in ("text", "markdown", "rst", "roff", "rfc")])
@pytest.mark.parametrize(
    "line", [*HOSTILE, "=-" * 10_000, "-" * 70 + "x", "\n.SH " * 5_000, " " * 40_000 + "x", "\n=====" * 5_000]
)
def test_hostile_lines_are_read_in_time(name: str, line: str) -> None:
    start = time.process_time()
    parse_or_refuse(load_format(name), f"Title\n\n{line}\n\n{line}\n".encode())
    assert time.process_time() - start < 5
