"""Markdown: CommonMark with tables, read by markdown-it-py.

Front matter, comments, badges and the targets of links are left out; a list of links into the document is its table of
contents. HTML inside Markdown is reduced to its text. Comments of `sumpool convert` say page and kind of what follows.

Boxes of dialects are opened for CommonMark: their text becomes text of the document, on the lines it had. They are
admonitions and tabs of MkDocs (`!!!`, `???`, `===`), containers of Docusaurus, VitePress and Pandoc (`:::`), directives
of MyST (` ```{note} `) and alerts of GitHub (`> [!NOTE]`). Their titles become captions.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, cast

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import (
    Document,
    ParsedDocument,
    ReadOptions,
    TextBlock,
    TextBlockKind,
    join_cells,
    opening_heading,
)
from sumpool.documents.sections import is_caption
from sumpool.text.cleaning import escape, escape_line, escape_markdown_line, markdown_table

if TYPE_CHECKING:
    from markdown_it.token import Token

_INDENTED: Final = re.compile(r"(?P<mark>!!!|\?\?\?\+?|===[!+]?)[ \"]")
_NAME: Final = re.compile(r"[\w -]*")
_CONTAINER: Final = re.compile(r":{3,}+ *+(?:\{[^}]*+\}|[\w-]+)?")
_ALERT: Final = re.compile(r"(?P<quote> *>) *\[!\w+\][+-]?(?P<title>.*)")
_DIRECTIVE: Final = re.compile(r" *(?P<fence>`{3,}+|:{3,}+)\{(?P<name>[\w-]+)\} *(?P<title>.*)")
_OPTION: Final = re.compile(r" *:[\w-]+:(?: .*)?")
_FENCE: Final = re.compile(r" *(?P<fence>`{3,}+|~{3,}+)(?P<info>[^`]*)")
_TEXT_DIRECTIVE: Final = re.compile(
    r"admonition|attention|caution|danger|dropdown|error|hint|important|note|seealso|tip|topic|warning"
)
_STEP: Final = 4
"""Spaces by which the text of a box is indented."""

_FRONT_MATTER = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>(?:(?!(?P=fence)).*\n){0,200}?)(?P=fence)[ \t]*(?:\n|\Z)"
)
_FIRST_FIELD = re.compile(r"\s*[\w-]+\s*[:=]")
_TITLE_FIELD = re.compile(r"^title\s*[:=]\s*(?P<title>.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_STATED: Final = re.compile(r"<!-- (?:page (?P<page>[1-9]\d{0,8})|(?P<end>/?)(?P<kind>notice|caption)) -->\s*")
"""Comment that states page or kind of what follows."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|svg|template)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|div|h[1-6]|li|tr|td|th|br|summary|details|table|ul|ol|dt|dd)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>")
_PREFORMATTED = re.compile(r"<pre\b[^<>]*>(.*?)(?:</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_EXPONENT = re.compile(r"(?<=\d)<su[pb]>(?=[+\u2212-]?(?:\d{1,4}|[kn])[+\u2212-]?</su[pb]>)", re.IGNORECASE)
"""Tag between a number and its exponent or base, which would be read as its last digits."""
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:?")
_MARK = re.compile(r"\[\[?_?TOC_?\]\]?|\{:.*\}", re.IGNORECASE)
_BOX_MARKS = ("!!!", "???", "===", ":::", "[!", "```{")
"""Marks of which a text with boxes has one."""
_MAX_HEADING_WORDS = 12
_ANCHOR = re.compile(r"(?<!\s)\s*\{#[\w-]+\}\s*$|(?<!\s)\s+#+$|^[=~-]{3,} ")
"""What a heading is without: its anchor, its closing marks, and the line above it in reStructuredText."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read Markdown.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    from markdown_it import MarkdownIt

    del options
    text, notes = decode_text(content)
    text = text.replace("\r\n", "\n").replace("\b", "").replace("\x1b", "").replace("\f", "\n")
    front = _FRONT_MATTER.match(text)
    title = ""
    if front and _FIRST_FIELD.match(front["fields"]):
        field = _TITLE_FIELD.search(front["fields"])
        title = field["title"].strip("\"'") if field else ""
        text = "\n" * front[0].count("\n") + text[front.end() :]
    captions: list[TextBlock] = []
    if any(mark in text for mark in _BOX_MARKS):
        reader = _BoxReader()
        text = "\n".join(reader.line(number, line) for number, line in enumerate(text.split("\n"), 1))
        captions = reader.captions
    text = _EXPONENT.sub(lambda tag: "^" if tag[0][3] in "pP" else "_", text)
    tokens = MarkdownIt("commonmark", {"maxNesting": 30}).enable(["table", "strikethrough"]).parse(text)
    blocks = tuple(sorted((*captions, *_Blocks(tokens).read()), key=lambda block: block.line or 0))
    return ParsedDocument(blocks, title or opening_heading(blocks), notes)


class _BoxReader:
    """Reader of lines that knows the boxes around each."""

    def __init__(self) -> None:
        self.captions: list[TextBlock] = []
        self._indents: list[int] = []  # that the lines of the boxes have at least
        self._code = ""  # fence of the code around the line
        self._directive = ""  # fence of the directive around the line
        self._options = False  # whether options of a directive may follow

    def line(self, number: int, line: str) -> str:
        """Return a line as CommonMark shall read it."""
        content = line.lstrip(" \t")
        line = line[: len(line) - len(content)].expandtabs(_STEP) + content
        indent = len(line) - len(content)
        while line.strip() and self._indents and indent < self._indents[-1]:
            self._indents.pop()
        line = line[min(indent, _STEP * len(self._indents)) :]
        if self._code:
            fence = _FENCE.fullmatch(line)
            if fence and fence["fence"].startswith(self._code) and not fence["info"].strip():
                self._code = ""
            return line
        if self._options and _OPTION.fullmatch(line):
            return ""
        self._options = False
        return self._opened(number, line, indent)

    def _opened(self, number: int, line: str, indent: int) -> str:
        """Return a line outside of code, empty for the mark of a box."""
        if line[:1] not in " !?=:>`~":
            return line
        title = ""
        if (box := _DIRECTIVE.fullmatch(line)) and (box["fence"][0] == ":" or _TEXT_DIRECTIVE.fullmatch(box["name"])):
            self._directive, self._options, title = box["fence"], True, box["title"]
        elif self._directive and line.strip() == self._directive:
            self._directive = ""
        elif fence := _FENCE.fullmatch(line):
            self._code = fence["fence"]
            return line
        elif (indented := _indented_title(line.strip())) is not None:
            self._indents.append(indent + _STEP)
            title = indented
        elif box := _CONTAINER.match(line.strip()):
            title = line.strip()[box.end() :].partition("{")[0].strip(" []")
        elif box := _ALERT.fullmatch(line):
            self._title(number, box["title"])
            return box["quote"]
        else:
            return line
        self._title(number, title)
        return ""

    def _title(self, number: int, title: str) -> None:
        if title := " ".join(title.strip(": ").split()):
            self.captions.append(TextBlock(title, "caption", line=number))


def _indented_title(line: str) -> str | None:
    """Return the title in the mark of a box whose text is indented, which may be empty; None for other lines."""
    if not (mark := _INDENTED.match(line + " ")):
        return None
    name, quote, title = line[mark.end("mark") :].partition('"')
    if not _NAME.fullmatch(name) or (quote and not title.endswith('"')) or not (quote or name.strip()):
        return None
    return title.rstrip('"') if quote or mark["mark"][0] != "=" else None


class _Blocks:
    """Blocks of a list of tokens.

    Attributes:
        tokens: Tokens of the document.
        depth: Lists around the current token.
        level: Level of the last heading that is marked as one.
        page: Page that a comment has stated.
        kind: Kind of paragraphs that a comment has stated.
    """

    def __init__(self, tokens: Sequence["Token"]) -> None:
        self.tokens = tokens
        self.depth = self.level = 0
        self.page: int | None = None
        self.kind: TextBlockKind = "paragraph"

    def read(self) -> Iterator[TextBlock]:
        """Yield the blocks in order."""
        for block in self._read():
            kind = self.kind if block.kind == "paragraph" else block.kind
            yield replace(block, page=self.page, kind=kind)

    def _read(self) -> Iterator[TextBlock]:
        cells: list[str] = []
        row_line: int | None = None
        for index, token in enumerate(self.tokens):
            line = token.map[0] + 1 if token.map else None
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    self.depth += 1
                case "bullet_list_close" | "ordered_list_close":
                    self.depth -= 1
                case "fence" | "code_block":
                    yield TextBlock(token.content.rstrip("\n"), "code", line=line)
                case "html_block":
                    yield from self._html_blocks(token.content, line)
                case "tr_open":
                    cells, row_line = [], line
                case "tr_close":
                    yield TextBlock(join_cells(cells), "table_row", line=line or row_line)
                case "inline" if self.tokens[index - 1].type in ("td_open", "th_open"):
                    cells.append(_text(token))
                case "inline":
                    yield from self._inline_blocks(token, index, line)

    def _html_blocks(self, content: str, line: int | None) -> Iterator[TextBlock]:
        """Yield the text of an HTML block, a paragraph per element, and what is preformatted as code."""
        if stated := _STATED.fullmatch(content):  # about the blocks that follow
            self.page = int(stated["page"]) if stated["page"] else self.page
            self.kind = cast(TextBlockKind, stated["kind"]) if stated["end"] == "" else "paragraph"
        for number, markup in enumerate(_PREFORMATTED.split(_HIDDEN.sub("", _COMMENT.sub("", content)))):
            if number % 2:
                if code := html.unescape(_TAG.sub("", markup)).strip("\n").rstrip():
                    yield TextBlock(code, "code", line=line)
                continue
            for part in _EMPTY_LINE.split(_TAG.sub("", _BREAK.sub("\n\n", markup))):
                text = " ".join(html.unescape(part).split())
                if any(character.isalnum() for character in text):
                    yield TextBlock(text, line=line)

    def _inline_blocks(self, token: "Token", index: int, line: int | None) -> Iterator[TextBlock]:
        text, opening = _text(token), self.tokens[index - 1]
        # A bold line without a stop, as those write headings who do not mark them.
        types = [child.type for child in token.children or () if child.type != "text" or child.content.strip()]
        is_bold = types[:1] == ["strong_open"] and types[-1:] == ["strong_close"] and types.count("strong_open") == 1
        is_line = "softbreak" not in types and len(text.split()) <= _MAX_HEADING_WORDS and text[-1:] not in ".!?;,"
        if opening.type == "heading_open":
            self.level = int(opening.tag[1])
            yield TextBlock(_ANCHOR.sub("", text), "heading", self.level, line=line)
        elif not opening.level and is_bold and is_line and index + 2 < len(self.tokens):
            yield TextBlock(text.rstrip(":"), "heading", min(self.level + 1, 6), line=line)
        elif _MARK.fullmatch(text):
            return
        elif not text.strip(" |\u00b7-") and any(child.type == "image" for child in token.children or ()):
            return  # images alone, or links to images
        else:
            kind: TextBlockKind = "list_item" if self.depth else "caption" if is_caption(text) else "paragraph"
            if self.depth and _is_contents_entry(token):
                kind = "notice"
            yield TextBlock(text, kind, self.depth if kind == "list_item" else 0, line=line)


def _text(token: "Token") -> str:
    """Return the text of inline content, without images and the targets of links."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak") or (child.type == "html_inline" and _BREAK.match(child.content)):
            parts.append(" ")
    return " ".join(_FOOTNOTE.sub("", "".join(parts)).split())


def _is_contents_entry(token: "Token") -> bool:
    """Return whether an item is a link into the document and nothing else."""
    children = [child for child in token.children or () if child.type != "softbreak"]
    if not children or children[0].type != "link_open" or children[-1].type != "link_close":
        return False
    opened = [child for child in children if child.type == "link_open"]
    return len(opened) == 1 and str(opened[0].attrs.get("href", "")).startswith("#")


_BOX_MARK: Final = re.compile(r"!!!|\?\?\?|===|:::")
"""Beginnings of paragraphs that our reader takes for the mark of a box."""
_MAX_LEVEL: Final = 6


def as_markdown(document: Document) -> str:
    """Return a document as Markdown: front matter if its title is not its first heading, then its blocks."""
    blocks = document.blocks or tuple(TextBlock(" ".join(part.split())) for part in document.text.split("\n\n"))
    parts = list(_parts(blocks))
    if document.title and document.title != opening_heading(blocks):
        parts.insert(0, f'---\ntitle: "{escape_line(document.title)}"\n---')
    return "\n\n".join(parts)


def _parts(blocks: Sequence[TextBlock]) -> Iterator[str]:
    """Yield the parts of the text between which an empty line stands: items of a list and rows of a table are one."""
    page = None
    # The words of most captions say what they are.
    kinds = ("paragraph" if block.kind == "caption" and is_caption(block.text) else block.kind for block in blocks)
    places = ((block.page, kind, block) for block, kind in zip(blocks, kinds, strict=True))
    for (block_page, kind), places_group in groupby(places, key=lambda place: place[:2]):
        group = [place[2] for place in places_group]
        if block_page != page:
            page = block_page
            yield f"<!-- page {page} -->"
        if kind in ("notice", "caption"):
            yield f"<!-- {kind} -->"
        if kind == "list_item":
            lines, level = [], 0
            for block in group:  # one that is more than a level deeper than the last one opens several lists
                inside = min(level, block.level - 1)
                lines.append("  " * inside + "- " * (block.level - inside) + escape_markdown_line(block.text))
                level = block.level
            yield "\n".join(lines)
        elif kind == "table_row":
            # Bars separate the cells of rows, of which the first is the heading.
            cells = [[escape_markdown_line(cell.strip()) for cell in f" {row.text} ".split(" |")] for row in group]
            width = max(map(len, cells))
            yield "\n".join(markdown_table([row + [""] * (width - len(row)) for row in cells]))
        elif kind == "code":
            for block in group:
                fence = "`" * (1 + max(2, *map(len, re.findall("`+", block.text)), 0))
                yield f"{fence}\n{escape(block.text)}\n{fence}"
        else:
            for block in group:
                text = escape_markdown_line(block.text)
                mark = f"{'#' * min(block.level, _MAX_LEVEL)} " if kind == "heading" else ""
                yield mark + (f"\\{text}" if not mark and _BOX_MARK.match(text) else text)
        if kind in ("notice", "caption"):
            yield f"<!-- /{kind} -->"
