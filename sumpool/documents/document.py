"""Documents with their structure: title, headings, paragraphs, list items, table rows and code."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sumpool.documents.decoding import invisible_note
from sumpool.text.cleaning import remove_invisible
from sumpool.text.language import split_words
from sumpool.text.prose import ends_sentence

TextBlockKind = Literal["paragraph", "heading", "list_item", "table_row", "caption", "code", "notice"]
"""Kind of a block; a notice is text about the document, such as a licence, an address or a table of contents."""

_OPENING_BLOCKS = 4
"""Blocks of a document among which its title is."""
_MAX_HEADING_WORDS = 40
_MIN_SENTENCE_WORDS = 6
_MIN_PROSE_WORDS = 10
"""Lower-case words of prose without an end mark."""
_FIRST_SECTION: Final = re.compile(r"[01](?:\.\d+)*[.)]?\s+(?=[^\W\d])")
"""Number of a section that a document may begin with."""
_WORDLESS: Final = re.compile(r"<[^<>]*>|[IVXLC]+[.)]?|[\W\d_]*")
"""Heading that is markup, a Roman numeral, or has no letters."""


@dataclass(frozen=True)
class TextBlock:
    """Part of a document.

    Attributes:
        text: Text in one line with single spaces; only code keeps its lines. Bars separate the cells of a row where
            the format tells them.
        kind: Kind of the block.
        level: Depth of a heading or a list item, from 1; 0 for other kinds.
        page: Page of the source, from 1; None in sources without pages.
        line: First line of the block in the source, from 1; None in sources without lines.
    """

    text: str
    kind: TextBlockKind = "paragraph"
    level: int = 0
    page: int | None = None
    line: int | None = None


def join_cells(cells: Iterable[str]) -> str:
    """Return the text of a row of a table; empty cells stay, but for the last ones."""
    return " ".join(" | ".join(cells).rstrip(" |").split())


@dataclass(frozen=True)
class Document:
    """A document to summarise, or the error that prevented reading it; both have a row in the output.

    Attributes:
        id: Path or address as given, id or `path:line` of a JSON line, or "-" for standard input.
        text: Text of the document, its paragraphs separated by an empty line; may be empty.
        error: Error message; empty if the document was read.
        title: Title; empty if the document has none.
        blocks: Structure of the text, which is the texts of the blocks separated by an empty line; empty if nothing
            but the text is known, and then every paragraph counts as prose.
        notes: What reading removed or guessed, one clause each ("12 invisible characters removed").
        parts: Documents that it consists of, if it is a digest's, see `join_documents`.
    """

    id: str
    text: str
    error: str = ""
    title: str = ""
    blocks: tuple[TextBlock, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple["Document", ...] = ()

    @classmethod
    def from_parsed(cls, id: str, parsed: "ParsedDocument") -> "Document":
        """Build a document from the result of a format, without invisible characters and blocks that are empty.

        Long headings are paragraphs: judgments and contracts number their paragraphs by the styles of headings.
        """
        title, invisible = remove_invisible(parsed.title)
        blocks: list[TextBlock] = []
        for block in parsed.blocks:
            text, count = remove_invisible(block.text)
            invisible += count
            if count and block.kind != "code":
                text = " ".join(text.split())  # of which two may meet now
            if block.kind == "heading" and text.count(" ") >= _MAX_HEADING_WORDS:
                block = replace(block, kind="paragraph", level=0)
            if text.strip():
                blocks.append(replace(block, text=text) if text != block.text else block)
        notes = (*parsed.notes, *invisible_note(invisible))
        return cls(id, "", title=title, notes=notes).with_blocks(blocks)

    def with_blocks(self, blocks: Sequence[TextBlock]) -> "Document":
        """Return the document with other blocks, and their text."""
        return replace(self, text="\n\n".join(block.text for block in blocks), blocks=tuple(blocks))


@dataclass(frozen=True)
class ParsedDocument:
    """Content of a file as its format reads it.

    Attributes:
        blocks: Blocks in reading order.
        title: Title; empty if there is none.
        notes: What the format removed or guessed, one clause each.
    """

    blocks: tuple[TextBlock, ...]
    title: str = ""
    notes: tuple[str, ...] = ()


def document_title(document: Document) -> str:
    """Return the title of a document: as stated, or its first heading; empty if it has neither."""
    return document.title or opening_heading(document.blocks)


def opening_heading(blocks: Sequence[TextBlock]) -> str:
    """Return the heading that a document begins with; empty if a sentence stands before it, as in many READMEs.

    Markup and bare numbers are passed over; a numbered heading is that of a section, and begins no document.
    """
    for block in blocks[:_OPENING_BLOCKS]:
        if block.kind == "heading" and _FIRST_SECTION.match(block.text):
            break
        if block.kind == "heading" and not _WORDLESS.fullmatch(block.text):
            return block.text
        if block.kind == "paragraph" and is_prose(block.text):
            break
    return ""


def is_prose(text: str) -> bool:
    """Return whether a text is prose: it ends with a sentence, or is longer than badges, bylines and addresses are."""
    if ends_sentence(text):
        return len(split_words(text)) >= _MIN_SENTENCE_WORDS
    return sum(word.isalpha() and word.islower() for word in text.split()) >= _MIN_PROSE_WORDS


@dataclass(frozen=True)
class Reject:
    """A line or a row that cannot be used.

    Attributes:
        where: Location: `file:line` or the file.
        reason: Reason, as a clause that completes the location ("must be ..., got ...").
    """

    where: str
    reason: str


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading.

    Attributes:
        field: Field of the text in rows (JSON lines, tables); None takes `trained_field`, else the first usual name.
        trained_field: Field of the documents that the model was trained on, taken from the rows that have it.
        keep_references: Whether references and appendices stay.
        glob: Pattern of the file names that are read from folders.
        max_bytes: Bytes that a file may have after decompression.
        password: Password of encrypted PDF files; empty if there is none.
        ocr: Languages of Tesseract in which scans are recognised by ocrmypdf, such as "eng" or "deu+fra"; empty leaves
            scans unread.
    """

    field: str | None = None
    trained_field: str | None = None
    keep_references: bool = False
    glob: str = "*"
    max_bytes: int = 256 * 2**20
    password: str = ""
    ocr: str = ""

    @property
    def limits(self) -> "Limits":
        """Limits of size."""
        return Limits(self.max_bytes, raise_bytes="; raise --max-bytes to read it")


@dataclass(frozen=True)
class Limits:
    """Limits of what is read from a file, which is trusted in nothing that it says about its own size.

    Attributes:
        max_bytes: Decompressed bytes of a file, or of a row of a file that is read row by row.
        raise_bytes: What to do about a larger file, for the message.
    """

    max_bytes: int = 256 * 2**20
    raise_bytes: str = ""

    def check_bytes(self, size: int) -> None:
        """Raise a ValueError if a file has too many bytes; the message lacks the subject."""
        if size > self.max_bytes:
            raise ValueError(
                f"must have at most {self.max_bytes / 2**20:,.0f} MiB of content, got more{self.raise_bytes}"
            )


DEFAULT_LIMITS = Limits()
"""Limits of files that no setting raises."""
DEFAULT_OPTIONS = ReadOptions()
"""Options of a call that names none."""
