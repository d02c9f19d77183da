"""Formats that pandoc reads: it writes HTML, whose blocks are read.

pandoc is a program of its own, started by the worker process. Its sandbox opens no files and no addresses, and its heap
has 512 MiB. Slides and sheets number the pages of their blocks; other formats have neither pages nor lines.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sumpool.documents.decoding import decode_text
from sumpool.documents.detection import detect_format
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, opening_heading
from sumpool.documents.formats import PANDOC, load_format, missing_library
from sumpool.documents.html.blocks import HtmlBlocks
from sumpool.documents.html.parts import PageParts
from sumpool.documents.html.tree import HtmlElement, parse_markup
from sumpool.documents.office import docx, odt, pptx, xlsx
from sumpool.documents.office.archive import DocumentArchive
from sumpool.documents.office.elements import CELL_MARK, unmarked
from sumpool.documents.roff import simplify_man, simplify_mdoc
from sumpool.documents.worker import TOO_LARGE, TOO_LONG, ran_out_of_time, run_program

_OUT_OF_HEAP: Final = 251
_Read = Callable[[bytes], tuple[TextBlock, ...]]
_ARCHIVES: Final[dict[str, Callable[[DocumentArchive, _Read], dict[str, bytes]]]] = {
    "docx": docx.prepare, "odt": odt.prepare, "pptx": pptx.prepare, "xlsx": xlsx.prepare
}  # fmt: skip
"""Formats that are zip archives, with the function that prepares their parts for pandoc."""
_EMBEDDED: Final = ("html", "mail", "text", "rtf", "docx")
"""Formats of documents that a Word document may embed; a web archive is a mail."""
_SIMPLIFIED: Final = {"man": simplify_man, "mdoc": simplify_mdoc}
"""Manual pages, with the function that prepares them for pandoc."""
_NAME_LINE: Final = 200
_ERROR_LINE: Final = re.compile(r"\(line (\d+), column \d+\)")
_MACROS: Final = re.compile(r"^\.\s*\S+\s*|(?<=\s)[A-Z][a-z](?:\s|$)")
"""Macro at the beginning of a line, and those of mdoc inside it."""
_EMPTY_LINE: Final = '.\\"'
_KEPT_MACRO: Final = re.compile(r"\.\\\"|\.\s*(?:Dd|Dt|Os|Sh|Ss|Pp|TH|SH|SS|[LP]?P)\b")
"""Comments and macros of headings and paragraphs, which stay."""
_ESCAPE: Final = re.compile(r"\\(?:[NhoCZ](?:'[^'\n]*'?)?|\[[^\]\n]*\])")
"""Escapes with arguments, which pandoc may refuse."""
_MAX_REPAIRS: Final = 20
_PAGE: Final = re.compile(r"(?:slide|sheet)-(\d+)")
_NO_TEXT: Final = re.compile(rf"{CELL_MARK}|\[Graphic: [^\[\]]*\]|[\ue000-\uf8ff]")
"""Marks of numbers, what pandoc puts for objects, and pictures of fonts such as Wingdings."""
_BULLET: Final = re.compile(r"[^\w\s]{1,2}|o|\(?\w{1,3}[.)]")
_END: Final = TextBlock("")
_NO_TITLE: Final = re.compile(
    r"(?:microsoft word - .*|untitled|title|document\d*|dokument\d*|normal|template|word document"
    r"|.*\.(?:docx?|odt|dotx?))?",
    re.IGNORECASE,
)
"""Titles that word processors put in by themselves."""


@dataclass(frozen=True)
class PandocFormat:
    """Format that pandoc reads.

    Attributes:
        name: Name of the format, as in `PANDOC` and as pandoc calls it.
    """

    name: str
    is_embedded: bool = False
    """Whether it is part of another document; those in it are left out."""

    def parse(self, content: bytes, options: ReadOptions) -> ParsedDocument:
        """Read a document.

        Raises:
            ValueError: If the content is not of the format, is encrypted or damaged, or takes more bytes, time or
                memory than it may; the message lacks the subject.
            DataError: If pandoc is not installed.
        """
        if not _program().is_file():
            raise missing_library("pandoc", PANDOC[self.name], extra="pandoc")
        property_title, text = "", ""
        notes: list[str] = []

        def read(part: bytes) -> tuple[TextBlock, ...]:
            try:
                if self.is_embedded or not part:
                    raise ValueError("must be a part of the document itself, got one of another or none")
                embedded = _embedded(part, options)
            except ValueError as error:
                notes.append(f"an embedded document left out, which {error}")
                return ()
            notes.extend(embedded.notes)
            return embedded.blocks

        if self.name in _ARCHIVES:
            archive = DocumentArchive(content, PANDOC[self.name], options.limits)
            content, property_title = archive.repacked(_ARCHIVES[self.name](archive, read)), archive.title()
        else:
            text, decoding = decode_text(content)
            notes += decoding
            content = text.encode("utf-8", "replace")
        markup = _run_on_manual(self.name, text) if self.name in _SIMPLIFIED else _run(self.name, content)
        tree = parse_markup(markup, PANDOC[self.name])
        body = next((element for element in tree.descendants() if element.tag == "body"), tree)
        head = next((element for element in body.descendants() if element.tag == "header"), HtmlElement("header"))
        title = next((" ".join(line.text().split()) for line in head.descendants() if line.tag == "h1"), "")
        _simplify(body)
        if self.name in _SIMPLIFIED:  # whose header is that of each printed page
            head.children.clear()
        blocks = tuple(_without_bullets(block for block in _blocks(body) if block.text))
        has_name = self.name in _SIMPLIFIED and len(blocks) > 1 and blocks[0].kind == "heading"
        if has_name and len(blocks[1].text) < _NAME_LINE:
            title = blocks[1].text  # under NAME, "ls - list directory contents"
        if not title and not _NO_TITLE.fullmatch(property_title):
            title = property_title
        return ParsedDocument(blocks, title or opening_heading(blocks), tuple(notes))


def _embedded(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a document that is part of another."""
    kind = detect_format(content)
    if kind not in _EMBEDDED:
        raise ValueError(f"must be HTML, a text or a Word document, got {kind}")
    if kind in PANDOC:
        return PandocFormat(kind, is_embedded=True).parse(content, options)
    return load_format(kind).parse(content, options)


def _program() -> Path:
    """Return the path of pandoc in the package pypandoc-binary; there may be none."""
    package = find_spec("pypandoc")
    folder = Path(package.origin).parent if package and package.origin else Path()
    return folder / "files" / ("pandoc.exe" if sys.platform == "win32" else "pandoc")


def _run(name: str, content: bytes) -> str:
    """Return a document as HTML.

    Raises:
        ValueError: If pandoc cannot read it, or takes too much time or memory.
    """
    command = [
        str(_program()), "--sandbox", "+RTS", "-M512M", "-RTS", "--from", name, "--to", "html", "--standalone",
        "--wrap=none", "--syntax-highlighting=none", "--email-obfuscation=none",
    ]  # fmt: skip
    done = run_program(command, content)
    if ran_out_of_time(done.returncode):
        raise ValueError(TOO_LONG)
    if done.returncode == _OUT_OF_HEAP or done.returncode < 0:
        raise ValueError(TOO_LARGE)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        raise ValueError(f"must be a document in {PANDOC[name]} that pandoc can read, got: {reason}")
    return done.stdout.decode("utf-8", "replace")


def _run_on_manual(name: str, text: str) -> str:
    """Return a manual page as HTML; lines that pandoc refuses, or all if need be, are without their macros.

    Raises:
        ValueError: As `_run`.
    """
    lines = _SIMPLIFIED[name](text).split("\n")
    for _ in range(_MAX_REPAIRS):
        try:
            return _run(name, "\n".join(lines).encode("utf-8", "replace"))
        except ValueError as error:
            place = _ERROR_LINE.search(str(error))
            number = min(int(place[1]) if place else 0, len(lines)) - 1
            while number >= 0 and (not lines[number].startswith(".") or _KEPT_MACRO.match(lines[number])):
                number -= 1  # to the macro whose end is missing
            if number < 0:
                break
            lines[number] = _MACROS.sub("", lines[number]) or _EMPTY_LINE
    plain = (line if _KEPT_MACRO.match(line) else _MACROS.sub("", line) or _EMPTY_LINE for line in lines)
    return _run(name, _ESCAPE.sub("", "\n".join(plain)).encode("utf-8", "replace"))


def _without_bullets(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yield blocks, of which terms that are bullets make items of the paragraphs behind them, as in manual pages."""
    bullet: TextBlock | None = None
    for block in blocks:
        if bullet and block.kind == "paragraph":
            yield replace(bullet, text=block.text)
        elif block.kind != "list_item" or not _BULLET.fullmatch(block.text):
            yield block
        bullet = block if block.kind == "list_item" and _BULLET.fullmatch(block.text) else None


def _simplify(body: HtmlElement) -> None:
    """Make notes paragraphs instead of items of a list, and remove the heading that pandoc adds to an abstract."""
    for element in body.descendants():
        names = element.names()
        if "footnotes" in names:
            for note in element.descendants():
                note.tag = "div" if note.tag in ("ol", "li") else note.tag
        elif "abstract-title" in names:
            element.children.clear()


def _blocks(body: HtmlElement) -> Iterator[TextBlock]:
    """Yield the blocks of a page; successive paragraphs of code are one block."""
    parts = PageParts(max(body.size, 1), site=False)
    for page, group in _pages(body):
        code: list[str] = []
        for block in (*map(unmarked, HtmlBlocks(parts).read(group)), _END):
            if block.kind == "code":
                code.append(block.text)
                continue
            if code:
                yield TextBlock("\n".join(code), "code", page=page)
                code = []
            if block.text not in (f"Slide {page}", f"Sheet{page}"):  # which have no title
                yield replace(block, text=_NO_TEXT.sub("", block.text).strip(), line=None, page=page)


def _pages(body: HtmlElement) -> Iterator[tuple[int | None, HtmlElement]]:
    """Yield the slides or sheets of a page with their numbers; None outside of them."""
    page, group = None, HtmlElement("body")
    for child in body.children:
        start = None if isinstance(child, str) else _PAGE.fullmatch(child.attributes.get("id", ""))
        if start:
            yield page, group
            page, group = int(start[1]), HtmlElement("body")
        group.append(child)
    yield page, group
