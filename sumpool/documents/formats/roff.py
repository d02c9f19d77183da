"""Manual pages in roff with the macros man or mdoc, and tables of tbl.

Options and other terms are list items of their own, in front of the paragraphs that explain them. Examples and synopses
keep their lines as code; equations and pictures are left out.
"""

import re
from collections.abc import Callable

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlockKind
from sumpool.documents.roff.mdoc import GLUE, INLINE_MACROS, inline_line
from sumpool.documents.roff.requests import Request, RoffSource
from sumpool.documents.roff.tables import table_rows
from sumpool.documents.roff.text import arguments, plain_text
from sumpool.documents.roff.writer import RoffWriter

_BREAKS = frozenset(
    ("PP", "LP", "P", "Pp", "sp", "Sp", "HP", "RS", "RE", "INDENT", "UNINDENT", "El", "YS", "Rs", "Re", "pp")
)
_LITERAL = frozenset(("nf", "EX", "Vb", "SY", "Bd", "DS"))
_FILLED = frozenset(("fi", "EE", "Ve", "Ed", "DE"))
_FONTS = frozenset(("B", "I", "SM", "SB", "R", "CW"))
_ALTERNATING = frozenset(("BR", "RB", "IR", "RI", "BI", "IB"))
_PREFIXES = {"Nd": "- ", "In": "#include "}
_SENTENCES = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {}() function returns the value 0 if successful; otherwise the value -1 is returned and the global "
    "variable errno is set to indicate the error.",
}
"""Sentences that macros of mdoc stand for."""
_SKIPPED = {"EQ": "EN", "PS": "PE", "GS": "GE"}
_MARK = re.compile(r"(?:[^\w\s]{1,2}|o|\(?\w{1,3}[.)]|\[\w{1,3}\])$")


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a manual page.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    page = _Page(text.replace("\f", "").replace("\b", "").replace("\x1b", "").replace(GLUE, "").split("\n"))
    page.read()
    return ParsedDocument(tuple(page.writer.blocks), page.title(), notes)


class _Page:
    """Manual page.

    Attributes:
        source: Requests of the page.
        writer: Blocks of the page.
        name: Name in the header, "LS".
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.source = RoffSource(lines)
        self.writer = RoffWriter()
        self.name = ""
        self.pending: Callable[[str, int], None] | None = None
        """Called with the text of the next line, if that is an argument."""
        self.lists: list[str] = []
        self.address = ("", -1)
        """Address of the last link, and the size of the page when it began."""

    def read(self) -> None:
        """Read all requests."""
        skipped_to = ""
        for request in self.source.requests():
            if skipped_to:
                skipped_to = "" if request.name == skipped_to else skipped_to
            elif request.name in _SKIPPED:
                skipped_to = _SKIPPED[request.name]
            elif request.name == "TS":
                self._table(request.number)
                skipped_to = "TE"
            else:
                self._request(request)
        self.writer.end_block()

    def title(self) -> str:
        """Return the line under NAME, "ls - list directory contents", or the name in the header."""
        blocks = self.writer.blocks
        if len(blocks) > 1 and blocks[0].kind == "heading" and len(blocks[1].text) < 200:
            return blocks[1].text
        return self.name

    def _request(self, request: Request) -> None:
        number, name, rest = request
        if not name:
            self._text(rest, number)
            return
        words = [plain_text(word, self.source.strings) for word in arguments(rest)]
        if name in ("TH", "Dt"):
            self.name = words[0] if words else ""
        elif name in ("SH", "SS", "Sh", "Ss"):
            self._heading(" ".join(words), 1 if name[1] in "Hh" else 2, number)
        elif name in _BREAKS:
            self.writer.end_block(is_literal=self.writer.is_literal and name in ("sp", "Sp", "RS", "RE"))
        elif name == "br":
            self.writer.end_line()
        elif name in _LITERAL:
            self.writer.end_block(is_literal=name != "Bd" or "-filled" not in rest)
            if name == "SY" and words:
                self.writer.text(words[0], number)
        elif name in _FILLED:
            self.writer.end_block()
        elif not self._item(name, words, number):
            self._inline(name, words, number)

    def _item(self, name: str, words: list[str], number: int) -> bool:
        """Begin an item of a list; False for other requests."""
        if name in ("TP", "TQ"):
            self.writer.end_block()
            self.pending = self._term
        elif name in ("IP", "bP"):
            mark = words[0] if words else ""
            self._item_mark("*" if name == "bP" else mark, number)
        elif name == "Bl":
            self.writer.end_block()
            self.lists.append(words[0] if words else "")
        elif name == "It":
            text = inline_line("No", words, self.name) if words else ""
            if text and self.lists and self.lists[-1] in ("-tag", "-hang", "-ohang", "-inset", "-diag", "-column"):
                self._term(" ".join(text.replace("Ta", "").split()) if self.lists[-1] == "-column" else text, number)
            else:
                self.writer.end_block("list_item")
        elif name == "El":
            self.writer.end_block()
            self.lists = self.lists[:-1]
        else:
            return False
        return True

    def _item_mark(self, mark: str, number: int) -> None:
        """Begin a paragraph with a mark: a bullet, a number or a term."""
        if mark and not _MARK.fullmatch(mark.strip()):
            self._term(mark, number)
        else:
            self.writer.end_block("list_item" if mark else "paragraph")

    def _term(self, text: str, number: int) -> None:
        if _MARK.fullmatch(text.strip()):
            self.writer.end_block("list_item")
        else:
            self.writer.add(text, "list_item", 1, number)

    def _heading(self, text: str, level: int, number: int) -> None:
        self.writer.end_block()
        if text:
            self.writer.add(text, "heading", level, number)
        else:
            self.pending = lambda text, number: self.writer.add(text, "heading", level, number)

    def _text(self, line: str, number: int) -> None:
        if not line.strip():
            if not self.writer.is_literal:
                self.writer.end_block()
                return
            self.writer.text("", number)
            return
        glued = line.endswith("\\c") and not line.endswith(" \\c")
        text = plain_text(line.removesuffix("\\c"), self.source.strings)
        if line[0].isspace() and not self.writer.is_literal:
            self.writer.end_line()
        self._emit(text + (GLUE if glued else ""), number)

    def _emit(self, text: str, number: int) -> None:
        """Add text to the current block, or take it as the argument of the last request."""
        pending, self.pending = self.pending, None
        if pending:
            pending(text, number)
        else:
            self.writer.text(text, number)

    def _inline(self, name: str, words: list[str], number: int) -> None:
        """Add the text of a macro that stands in a line; other requests are about the layout."""
        if name in _FONTS and words:
            self._emit(" ".join(words), number)
        elif name in _ALTERNATING and words:
            self._emit("".join(words), number)
        elif name in ("OP", "MR") and words:
            text = f"[{' '.join(words)}]" if name == "OP" else f"{words[0]}({''.join(words[1:2])}){''.join(words[2:])}"
            self._emit(text, number)
        elif name in ("UR", "MT", "UE", "ME"):
            self._link(name, words, number)
        elif name == "URL" and words:
            self._emit((words[1] if words[1:2] > [""] else words[0]) + "".join(words[2:3]), number)
        elif name in ("D1", "Dl"):
            self.writer.add(inline_line("No", words, self.name), "code", 0, number)
        elif name in _SENTENCES:
            self._emit(_SENTENCES[name].format(" ".join(words[1:]) or self.name), number)
        elif name in INLINE_MACROS:
            self._mdoc(name, words, number)

    def _mdoc(self, name: str, words: list[str], number: int) -> None:
        if name == "Nm" and words and not self.name.islower() and words[0] not in INLINE_MACROS:
            self.name = words[0]
        text = inline_line(name, words, self.name)
        self._emit(_PREFIXES.get(name, "") + text, number)

    def _link(self, name: str, words: list[str], number: int) -> None:
        """Begin a link, or end it; the address stands for a link without a text."""
        if name in ("UR", "MT"):
            self.address = (words[0] if words else "", self.writer.size)
            return
        if self.address[1] == self.writer.size:
            self._emit(self.address[0], number)
        if words:
            self._emit(GLUE + words[0], number)

    def _table(self, number: int) -> None:
        self.writer.end_block()
        end = next((index for index in range(number, len(self.lines)) if self.lines[index].startswith(".TE")), None)
        kind: TextBlockKind = "table_row"
        for index, cells in table_rows(self.lines[number:end]):
            row = [plain_text(cell, self.source.strings) for cell in cells]
            self.writer.add(" ".join(row), kind, 0, number + index + 1)
