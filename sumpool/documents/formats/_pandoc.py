"""Formats that pandoc reads: it writes HTML, whose blocks are read.

pandoc is a program of its own, started by the worker process. Its sandbox opens no files and no addresses, and its heap
has 512 MiB. Slides and sheets number the pages of their blocks; other formats have neither pages nor lines. Manual
pages come without what pandoc cannot read: it drops tables, links and conditions, and refuses pages in mdoc.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sumpool.documents.decoding import decode_text
from sumpool.documents.detection import detect_format
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, opening_heading
from sumpool.documents.formats import PANDOC, load_format
from sumpool.documents.markup import HtmlBlocks, HtmlElement, PageParts, parse_markup
from sumpool.documents.office import docx, odt, xlsx
from sumpool.documents.office.archive import (
    CELL_MARK,
    DocumentArchive,
    local_name,
    marked,
    part_name,
    serialised,
    unmarked,
    value,
)
from sumpool.documents.worker import TOO_LARGE, TOO_LONG, ran_out_of_time, run_program
from sumpool.errors import DataError

_CONDITION: Final = re.compile(
    r"\.\s*i[fe]\s+(?P<not>!?)(?P<test>'(?P<left>[^']*)'(?P<right>[^']*)'|[^\s'\\{]\S*?(?=\s|\\\{)|\\n\S*?(?=\s|\\\{))"
    r"\s*(?P<rest>.*)"
)
_ELSE: Final = re.compile(r"\.\s*el\b\s*(?P<rest>.*)")
_SKIPPED: Final = {".ig": "..", ".EQ": ".EN", ".PS": ".PE", ".GS": ".GE"}
"""Comments, equations and pictures, by their ends."""
_LINK: Final = re.compile(r'\.\s*(?:URL|MTO)\s+"(?P<target>[^"]*)"(?:\s+"(?P<text>[^"]*)")?(?:\s+"(?P<end>[^"]*)")?')
_BARE_LINK: Final = re.compile(r"^\.(?:UR|MT) (\S+)\n\.(?:UE|ME)[ \t]*(\S*)$", re.MULTILINE)
_CONTINUED: Final = re.compile(r"(?<![{\\])\\\n")
_GLUED: Final = re.compile(r"(?<!\\)\\c\n(?![.'])")
_TAB: Final = re.compile(r"tab\s*\((.)\)")
_DEFINITION: Final = re.compile(r"\.\s*(?:de1?|am|ig)\b")
_MACRO: Final = re.compile(r"\.\s*[A-Z%][A-Za-z0-9]{0,2}(?:\s|$)")
_HEADER: Final = re.compile(r"\.\s*(?:Dd|Dt|Os)\b")
_SIGNS: Final = {"Oo": "No [", "Oc": "No ]", "Bro": "No {", "Brc": "No }", "Po": "No (", "Pc": "No )"}
"""Macros that open a bracket, perhaps for another line to close it."""
_EXTENSION: Final = re.compile(r"(?:^\.|\s)(Xo|Xc)(?=\s|$)")
"""Macros around several lines that are arguments of one."""
_SPACING: Final = re.compile(r" Sm (?:on|off)\b")
_DROPPED: Final = ("Xo", "Xc", "Fa", "Fc")
_NO_SPACE: Final = re.compile(r"^(\..*)\n\.Ns\s", re.MULTILINE)
_INCLUDE: Final = re.compile(r"\.\s*In\s+(\S+)$")
_MAX_EXTENSION: Final = 50
_MAX_CONDITION: Final = 1_000
"""Lines that depend on a condition."""
_MAX_NAME_LINE: Final = 1_000

_OUT_OF_HEAP: Final = 251
_EMBEDDED: Final = ("html", "mail", "text", "rtf", "docx")
"""Formats of documents that a Word document may embed; a web archive is a mail."""
_NAME_LINE: Final = 200
_MACROS: Final = re.compile(r"^\.\s*\S+\s*|(?<=\s)[A-Z][a-z](?:\s|$)")
"""Macro at the beginning of a line, and those of mdoc inside it."""
_KEPT_MACRO: Final = re.compile(r"\.\\\"|\.\s*(?:Dd|Dt|Os|Nm|Nd|Sh|Ss|Pp|TH|SH|SS|[LP]?P)\b")
"""Comments and macros of names, headings and paragraphs, which stay."""
_ESCAPE: Final = re.compile(r"\\(?:[NhoCZ](?:'[^'\n]*'?)?|\[[^\]\n]*\]|f(?=[\\ ])|[{}]|n(?:\(\S\S|\S))")
"""Escapes that pandoc may refuse."""
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


def simplify_man(text: str) -> str:
    """Return a page with the macros man in which the rows of tables, links and conditions are lines of text."""
    text = _BARE_LINK.sub(r"\1\2", _CONTINUED.sub(" ", _GLUED.sub("", text)))
    lines = _chosen(iter(text.split("\n")))
    simple: list[str] = []
    for line in lines:
        if line.startswith(".TS"):
            simple += _table(lines)
        elif line[:3] in _SKIPPED:
            end = _SKIPPED[line[:3]]
            next((skipped for skipped in lines if skipped.startswith(end)), None)
        else:
            link = _LINK.match(line)
            simple.append((link["text"] or link["target"]) + (link["end"] or "") if link else line)
    return "\n".join(simple)


def _chosen(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines whose conditions hold on a terminal."""
    holds = True
    for line in lines:
        condition = _CONDITION.match(line)
        match = condition or _ELSE.match(line)
        if not match:
            yield line
            continue
        if not condition:
            holds = not holds
        elif condition["left"] is not None:
            holds = (condition["left"] == condition["right"]) != bool(condition["not"])
        else:  # those on other registers and names do not hold for groff on a terminal
            holds = (condition["test"] in ("n", "\\n(.g", "\\n[.g]", "o", "e")) != bool(condition["not"])
        part = [match["rest"]]
        opened = _opened_braces(part[0])
        while opened > 0:
            part.append(next(lines, "\\}"))
            opened += _opened_braces(part[-1]) if len(part) < _MAX_CONDITION else -opened
        if part[0].startswith("\\{"):
            part[0] = part[0][2:].lstrip("\\")
            part[-1] = "".join(part[-1].rsplit("\\}", 1))
        if holds:
            yield from _chosen(line for line in part if line.strip() not in ("", "."))


def _opened_braces(line: str) -> int:
    return line.count("\\{") - line.count("\\}")


def _table(lines: Iterator[str]) -> Iterator[str]:
    """Yield the rows of a table, whose lines follow, as paragraphs."""
    separator = "\t"
    in_format, opened = True, 0
    row: list[str] = []
    for line in lines:
        if line.startswith(".TE"):
            break
        if in_format or line.startswith(".T&"):
            tab = _TAB.search(line)
            separator = tab[1] if tab else separator
            in_format = not line.rstrip().endswith(".")
        elif _MACRO.match(line):
            row.append(line.partition(" ")[2].replace('"', ""))
        elif line.strip() not in ("_", "=", "") and not line.startswith("."):
            row.append(line)
            opened += line.count("T{") - line.count("T}")  # text over several lines
        if row and opened <= 0:
            text = " ".join(row).replace("T{", "").replace("T}", "").replace(separator, " ")
            yield f".PP\n{marked(' '.join(text.split()), 'table_row')}"
            row = []
    yield ".PP"


def simplify_mdoc(text: str) -> str:
    """Return a page with the macros mdoc that pandoc reads, whose lines say the same.

    The header has the order that pandoc expects, brackets are signs, lines that belong to one are joined, and
    definitions and requests of roff, of which groff prints no text, are left out.
    """
    lines = _NO_SPACE.sub(r"\1 Ns ", _CONTINUED.sub(" ", text)).split("\n")
    header = {line[1:].strip()[:2]: line for line in lines if _HEADER.match(line)}
    top = [header.get("Dd", ".Dd"), header.get("Dt", ".Dt UNTITLED 7"), ".Os"]
    if ".Sh NAME" not in lines:  # under which alone pandoc reads a description
        lines = [f".No \\(em {line[4:]}" if line.startswith(".Nd ") else line for line in lines]
    printed: list[str] = []  # lines that are text or macros of mdoc
    defining = False
    for line in lines:
        if defining or _DEFINITION.match(line):
            defining = not line.startswith("..")
        elif _MACRO.match(line) or not line.startswith((".", "'")):
            printed.append(line)
    for line in _extended(iter(printed)):
        if line.startswith(".") and not _HEADER.match(line):
            words = _INCLUDE.sub(r".Fd #include <\1>", line)[1:].split(" ")
            line = "." + " ".join(_SIGNS.get(word, word) for word in words)
        if not _HEADER.match(line):
            top.append(line)
    return "\n".join(top)


def _extended(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines, in which those from Xo to Xc are one."""
    for line in lines:
        while line.startswith(".Nd"):  # whose text may go on behind a macro
            part = next(lines, ".Sh") if len(line) < _MAX_NAME_LINE else ".Pp"
            if part.startswith((".Sh", ".Pp")):
                yield line
                line = part
            else:
                line += " " + (part.partition(" ")[2] if part.startswith(".") else part)
        parts, opened = [line], _opened(line)
        while opened > 0 and len(parts) < _MAX_EXTENSION:
            part = next(lines, ".Xc")
            opened += _opened(part)
            parts.append(part.removeprefix(".") if part.startswith(".") else f"No {part}")
        if len(parts) > 1 or _EXTENSION.search(line):
            line = " ".join(parts).removeprefix(".").replace(" Fo ", " Fn ")
            line = "." + " ".join(word for word in _SPACING.sub("", line).split() if word not in _DROPPED)
        yield line if not line.startswith(".") or _MACRO.match(line) else f".No {line[1:]}"


def _opened(line: str) -> int:
    """Return the number of extensions that a line leaves open."""
    names = _EXTENSION.findall(line) if line.startswith(".") else []
    return names.count("Xo") - names.count("Xc")


def prepare_slides(archive: DocumentArchive) -> dict[str, bytes]:
    """Return the slides of a presentation with the notes of speakers, which pandoc passes over, on them.

    Raises:
        ValueError: If a part is not XML; the message lacks the subject.
    """
    parts: dict[str, bytes] = {}
    for name in archive.names:
        if not name.startswith("ppt/slides/slide"):
            continue
        root = archive.xml(name)
        relations = part_name(name, f"_rels/{name.rpartition('/')[2]}.rels")
        for relation in archive.xml(relations) if relations in archive.names else ():
            notes = part_name(name, value(relation, "Target"))
            if value(relation, "Type").endswith("/notesSlide") and notes in archive.names:
                next(root.iter("{*}spTree"), root).extend(
                    shape
                    for shape in archive.xml(notes).iter("{*}sp")
                    if any(local_name(part.tag) == "ph" and value(part, "type") == "body" for part in shape.iter())
                )
        parts[name] = serialised(root)
    return parts


_ARCHIVES: Final[dict[str, Callable[[DocumentArchive], dict[str, bytes]]]] = {
    "odt": odt.prepare, "pptx": prepare_slides, "xlsx": xlsx.prepare
}  # fmt: skip
"""Zip archives beside DOCX, which may embed other documents, with the function that prepares their parts for pandoc."""
_SIMPLIFIED: Final = {"man": simplify_man, "mdoc": simplify_mdoc}
"""Manual pages, with the function that prepares them for pandoc."""


def parse(content: bytes, options: ReadOptions, name: str, is_embedded: bool = False) -> ParsedDocument:
    """Read a document that pandoc reads.

    Args:
        content: Content of the file.
        options: Options of reading.
        name: Name of the format, as in `PANDOC` and as pandoc calls it.
        is_embedded: Whether it is part of another document; those in it are left out.

    Raises:
        ValueError: If the content is not of the format, is encrypted or damaged, or takes more bytes, time or memory
            than it may; the message lacks the subject.
    """
    property_title, text = "", ""
    notes: list[str] = []

    def read(part: bytes) -> tuple[TextBlock, ...]:
        try:
            if is_embedded or not part:
                raise ValueError("must be a part of the document itself, got one of another or none")
            kind = detect_format(part)
            if kind not in _EMBEDDED:
                raise ValueError(f"must be HTML, a text or a Word document, got {kind}")
            in_pandoc = kind in PANDOC
            embedded = parse(part, options, kind, is_embedded=True) if in_pandoc else load_format(kind)(part, options)
        except ValueError as error:
            notes.append(f"an embedded document left out, which {error}")
            return ()
        notes.extend(embedded.notes)
        return embedded.blocks

    if name in ("docx", *_ARCHIVES):
        archive = DocumentArchive(content, PANDOC[name])
        parts = docx.prepare(archive, read) if name == "docx" else _ARCHIVES[name](archive)
        content, property_title = archive.repacked(parts), archive.title()
    else:
        text, decoding = decode_text(content)
        notes += decoding
        text = _SIMPLIFIED[name](text) if name in _SIMPLIFIED else text
        content = text.encode("utf-8", "replace")
    try:
        markup = _run(name, content)
    except ValueError:
        if name not in _SIMPLIFIED:
            raise
        # A page that pandoc refuses is read without its other macros.
        lines = (line if _KEPT_MACRO.match(line) else _MACROS.sub("", line) or '.\\"' for line in text.split("\n"))
        markup = _run(name, _ESCAPE.sub("", "\n".join(lines)).encode("utf-8", "replace"))
    tree = parse_markup(markup)
    body = tree.find("body") or tree
    head = body.find("header") or HtmlElement("header")
    title = " ".join((head.find("h1") or HtmlElement("h1")).text().split())
    if name in _SIMPLIFIED:  # whose header is that of each printed page
        head.children.clear()
    blocks = tuple(_without_bullets(block for block in _blocks(body) if block.text))
    has_name = name in _SIMPLIFIED and len(blocks) > 1 and blocks[0].kind == "heading"
    if has_name and len(blocks[1].text) < _NAME_LINE:
        title = blocks[1].text  # under NAME, "ls - list directory contents"
    if not title and not _NO_TITLE.fullmatch(property_title):
        title = property_title
    return ParsedDocument(blocks, title or opening_heading(blocks), tuple(notes))


def _run(name: str, content: bytes) -> str:
    """Return a document as HTML."""
    package = find_spec("pypandoc")
    folder = Path(package.origin).parent if package and package.origin else Path()
    program = folder / "files" / ("pandoc.exe" if sys.platform == "win32" else "pandoc")
    if not program.is_file():  # as in pypandoc without -binary
        raise DataError(f"{PANDOC[name]} files need pandoc, which is not installed: pip install 'sumpool[pandoc]'")
    command = [
        str(program), "--sandbox", "+RTS", "-M512M", "-O64M", "-RTS", "--from", name, "--to", "html", "--standalone",
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


def _without_bullets(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yield blocks, of which terms that are bullets make items of the paragraphs behind them, as in manual pages."""
    bullet: TextBlock | None = None
    for block in blocks:
        if bullet and block.kind == "paragraph":
            yield replace(bullet, text=block.text)
        elif block.kind != "list_item" or not _BULLET.fullmatch(block.text):
            yield block
        bullet = block if block.kind == "list_item" and _BULLET.fullmatch(block.text) else None


def _blocks(body: HtmlElement) -> Iterator[TextBlock]:
    """Yield the blocks of a page; successive paragraphs of code are one block."""
    for element in body.descendants():
        names = element.names()
        if "footnotes" in names:  # are paragraphs, not items of a list
            for note in element.descendants():
                note.tag = "div" if note.tag in ("ol", "li") else note.tag
        elif "abstract-title" in names:  # which pandoc adds
            element.children.clear()
    parts = PageParts(max(body.size, 1), site=False)
    pages: list[tuple[int | None, HtmlElement]] = [(None, HtmlElement("body"))]  # slides or sheets
    for child in body.children:
        if not isinstance(child, str) and (start := _PAGE.fullmatch(child.attributes.get("id", ""))):
            pages.append((int(start[1]), HtmlElement("body")))
        pages[-1][1].append(child)
    for page, group in pages:
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
