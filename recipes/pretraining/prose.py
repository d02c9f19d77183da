"""Paragraphs of English prose of a file, through the document readers of sumpool."""

import gzip
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sumpool.documents.document import DEFAULT_OPTIONS, Document
from sumpool.documents.formats import load_format
from sumpool.documents.read import read_documents
from sumpool.text.language import ENGLISH, detect_language, languages

MIN_WORDS = 150
"""Words of a text at least."""
MAX_WORDS = 5_000
"""Words of a text, after which a long document is divided."""
_MIN_PARAGRAPH_WORDS = 6
_MIN_LETTERS = 0.75
"""Letters per character other than spaces of prose."""
_MIN_FUNCTION_WORDS = 0.2
"""Function words per word of prose."""
_MAX_BYTES = 12_000_000
"""Bytes of a file; larger ones are indices."""
_SKIPPED = re.compile(
    r"(?:^|[_.-])(?:\w*index|search|toc|copyright|licen[sc]e|changelog|news|changes)\b", re.IGNORECASE
)
_TRANSLATION = re.compile(
    r"(?:^|[/._-])(?:ar|bg|ca|cs|da|de|el|es|fa|fi|fr|gl|he|hr|hu|id|it|ja|ko|lt|nb|nl|nn|pl|pt|ro|ru|sk|sl|sr|sv|tr|uk|vi|zh)"
    r"(?:[_-][A-Za-z]{2,4})?(?=[/.])"
)
"""Part of a path that names a language other than English."""
_WORD = re.compile(r"[^\W\d_]+")
_NODE = "\x1f"
_CODE = re.compile(r"[{}\\|]|::|->|=>|==|\w\(\);|</\w|^[#$%>] ")


@dataclass(frozen=True)
class Text:
    """Prose of a document.

    Attributes:
        title: Title, or the name of the file.
        paragraphs: Its paragraphs and list items of prose.
    """

    title: str
    paragraphs: tuple[str, ...]


def is_translation(path: str) -> bool:
    """Return whether a path names a language other than English, as in `html/de/` or `guide.pt_BR.html`."""
    return bool(_TRANSLATION.search(path))


def read_prose(path: Path) -> Iterator[Text]:
    """Read the prose of a file; nothing if it is not English, too short, or cannot be read."""
    if path.is_symlink() or path.stat().st_size > _MAX_BYTES or _SKIPPED.search(path.name):
        return
    for document in _documents(path):
        blocks = (block for block in document.blocks if block.kind in ("paragraph", "list_item"))
        paragraphs = [text for block in blocks if is_prose(text := " ".join(block.text.split()))]
        for part in _parts(paragraphs):
            if detect_language("\n".join(part)) == ENGLISH:
                yield Text(document.title or path.name.split(".")[0], part)


def is_prose(text: str) -> bool:
    """Return whether a paragraph is prose: letters, function words, no code."""
    words = _WORD.findall(text)
    if len(words) < _MIN_PARAGRAPH_WORDS or len(_CODE.findall(text)) > len(words) / 40:
        return False
    characters = len(text) - text.count(" ")
    if sum(map(len, words)) < _MIN_LETTERS * characters:
        return False
    function_words = languages()[ENGLISH].function_words
    return sum(word.lower() in function_words for word in words) >= _MIN_FUNCTION_WORDS * len(words)


def _parts(paragraphs: list[str]) -> Iterator[tuple[str, ...]]:
    """Divide paragraphs into texts of at most about MAX_WORDS words; shorter than MIN_WORDS are dropped."""
    part: list[str] = []
    words = 0
    for paragraph in [*paragraphs, ""]:
        size = len(paragraph.split())
        if words + size > MAX_WORDS or not paragraph:
            if words >= MIN_WORDS:
                yield tuple(part)
            part, words = [], 0
        part.append(paragraph)
        words += size


def _documents(path: Path) -> Iterator[Document]:
    name = path.name.removesuffix(".gz")
    if re.search(r"\.info(?:-\d+)?$", name):
        yield _parsed(path, "text", _without_node_lines(gzip.decompress(path.read_bytes())))
    elif name.endswith(".pod"):
        manual = subprocess.run(["pod2man", "--utf8", str(path)], capture_output=True, check=False)
        yield _parsed(path, "man", manual.stdout)
    elif name.endswith((".page", ".html.en")):
        yield _parsed(path, "html", path.read_bytes())
    elif name.endswith(".dict.dz"):
        yield _parsed(path, "text", gzip.decompress(path.read_bytes()))
    else:
        yield from read_documents(str(path))


def _parsed(path: Path, kind: str, content: bytes) -> Document:
    try:
        return Document.from_parsed(str(path), load_format(kind)(content, DEFAULT_OPTIONS))
    except (ValueError, RecursionError) as error:
        return Document(str(path), "", str(error))


def _without_node_lines(content: bytes) -> bytes:
    """Remove the navigation lines and the indices of an Info file."""
    nodes = content.decode(errors="replace").split(_NODE)[1:]
    bodies = (node.strip("\n").partition("\n") for node in nodes)
    return "\n\n".join(body for head, _, body in bodies if head.startswith("File: ")).encode()
