"""Reader of the body of reStructuredText: headings, paragraphs, lists, tables, literal blocks and directives."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sumpool.documents.document import TextBlock
from sumpool.documents.rst.directives import (
    CODE,
    DROPPED,
    PARAGRAPHS,
    TABLES,
    TITLED,
    VERSIONS,
    WRAPPERS,
    Directive,
    read_directive,
)
from sumpool.documents.rst.inline import inline_text
from sumpool.documents.rst.lines import SourceLine, indented_end, literal_text, paragraph_end, with_first
from sumpool.documents.rst.shapes import ITEM, RULE, heading_size, is_item
from sumpool.documents.rst.tables import (
    GRID_BORDER,
    SIMPLE_BORDER,
    csv_rows,
    grid_rows,
    list_table_rows,
    simple_rows,
    simple_table_end,
)

_FOOTNOTE = re.compile(r"\.\.\s+\[(?P<label>[^\]]+)\](?=\s|$)")
_FIELD = re.compile(r":(?P<name>(?![: ])(?:[^:\\\n]|\\.|:(?!\s|$)){1,80}):(?:\s+|$)")
_OPTION = re.compile(
    r"(?P<option>(?:--?|/)[\w?][\w-]*(?:[ =][<\w][\w<>.-]*)?(?:, --?[\w?][\w-]*(?:[ =][<\w][\w<>.-]*)?)*)\s{2,}"
)
_MAX_DEPTH = 30
"""Parts inside each other; deeper ones are paragraphs."""


@dataclass
class RstReader:
    """Reader of lines.

    Attributes:
        styles: Underlines of headings in the order of their first use; the first is level 1.
        substitutions: Text of each |name|.
        level: Level of the heading above.
        depth: Parts around the current lines.
        lists: Lists around the current lines.
    """

    styles: list[str] = field(default_factory=list)
    substitutions: dict[str, str] = field(default_factory=dict)
    level: int = 0
    depth: int = 0
    lists: int = 0

    def read(self, lines: Sequence[SourceLine]) -> Iterator[TextBlock]:
        """Yield the blocks of lines."""
        if self.depth == 0:
            self._collect_substitutions(lines)
        index = 0
        while index < len(lines):
            text = lines[index].text
            if not text:
                index += 1
                continue
            size = heading_size(lines, index)
            if size:
                yield self._heading(lines[index : index + size])
            elif len(text) >= 4 and RULE.fullmatch(text) and (index + 1 == len(lines) or not lines[index + 1].text):
                size = 1
            else:
                end, blocks = self._part(lines, index)
                yield from blocks
                size = end - index
            index += max(size, 1)

    def _part(self, lines: Sequence[SourceLine], start: int) -> tuple[int, Iterable[TextBlock]]:
        """Return the index behind the part that begins at a line, and its blocks."""
        line = lines[start]
        text = line.text
        if text.startswith("..") and (text == ".." or text[2].isspace()):
            end = indented_end(lines, start + 1, line.indent)
            return end, self._explicit(lines[start:end])
        if text.startswith("__ ") or self.depth > _MAX_DEPTH:
            end = paragraph_end(lines, start)
            return end, () if text.startswith("__ ") else [self._paragraph(lines[start:end])]
        if text.startswith(">>> "):
            end = paragraph_end(lines, start)
            return end, [TextBlock(literal_text(lines[start:end]), "code", line=line.number)]
        if GRID_BORDER.match(text):
            end = paragraph_end(lines, start)
            return end, _table(grid_rows(lines[start:end]), self.substitutions)
        if SIMPLE_BORDER.match(text):
            end = simple_table_end(lines, start)
            return end, _table(simple_rows(lines[start:end]), self.substitutions)
        if text.startswith("|") and text[1:2] in ("", " "):
            end = paragraph_end(lines, start)
            rows = (replace(self._paragraph([row]), text=self._text(row.text.lstrip("| "))) for row in lines[start:end])
            return end, rows
        return self._body_part(lines, start)

    def _body_part(self, lines: Sequence[SourceLine], start: int) -> tuple[int, Iterable[TextBlock]]:
        line = lines[start]
        item = ITEM.match(line.text)
        if item and is_item(lines, start, item.end()):
            end = indented_end(lines, start + 1, line.indent)
            return end, self._nested(with_first(line, item.end(), lines[start + 1 : end]), lists=1)
        name = _FIELD.match(line.text)
        if name:
            end = indented_end(lines, start + 1, line.indent)
            return end, self._field(name["name"], with_first(line, name.end(), lines[start + 1 : end]))
        option = _OPTION.match(line.text)
        if option:
            end = indented_end(lines, start + 1, line.indent)
            body = with_first(line, option.end(), lines[start + 1 : end])
            return end, (self._term(line, option["option"]), *self._nested(body))
        if start + 1 < len(lines) and lines[start + 1].text and lines[start + 1].indent > line.indent:
            end = indented_end(lines, start + 1, line.indent)
            return end, (self._term(line, line.text), *self._nested(lines[start + 1 : end]))
        return self._paragraph_part(lines, start)

    def _paragraph_part(self, lines: Sequence[SourceLine], start: int) -> tuple[int, Iterable[TextBlock]]:
        end = start + 1
        while end < len(lines) and lines[end].text and lines[end].indent == lines[start].indent:
            end += 1
        paragraph = lines[start:end]
        if not paragraph[-1].text.endswith("::"):
            return end, [self._paragraph(paragraph)]
        literal_end = indented_end(lines, end, lines[start].indent)
        code = TextBlock(literal_text(lines[end:literal_end]), "code", line=lines[min(end, len(lines) - 1)].number)
        return literal_end, [self._paragraph(paragraph), code]

    def _explicit(self, lines: Sequence[SourceLine]) -> Iterator[TextBlock]:
        """Yield the blocks of a directive or a footnote; comments and targets have none."""
        footnote = _FOOTNOTE.match(lines[0].text)
        if footnote:
            yield from self._nested(with_first(lines[0], footnote.end(), lines[1:]))
        directive = read_directive(lines)
        if directive and not (directive.substitution or directive.name in DROPPED):
            yield from self._directive(directive, lines[0].number)

    def _directive(self, directive: Directive, number: int) -> Iterator[TextBlock]:
        name, argument, body, _ = directive
        if name in CODE:
            yield TextBlock(literal_text(body) or argument, "code", line=number)
        elif name in TABLES:
            yield TextBlock(self._text(argument), "caption", line=number)
            yield from self._directive_table(name, body)
        elif name == "figure":
            yield from (replace(block, kind="caption", level=0) for block in self._nested(body))
        elif name in TITLED:
            yield TextBlock(self._text(argument), "heading", self.level + 1, line=number)
            yield from self._nested(body)
        elif name in VERSIONS:
            yield TextBlock(self._text(argument.partition(" ")[2]), line=number)
            yield from self._nested(body)
        elif name in PARAGRAPHS:
            first = [SourceLine(number, 0, argument), SourceLine(number, 0, "")] if argument else []
            if body and body[0].text and argument:
                first = [SourceLine(number, body[0].indent, argument)]
            yield from self._nested([*first, *body])
        else:  # a description of a function, or of an unknown kind
            if name not in WRAPPERS:
                yield TextBlock(argument, "code", line=number)
            yield from self._nested(body)

    def _directive_table(self, name: str, body: Sequence[SourceLine]) -> Iterable[TextBlock]:
        if name == "table":
            return self._nested(body)
        return _table(csv_rows(body) if name == "csv-table" else list_table_rows(body), self.substitutions)

    def _field(self, name: str, body: Sequence[SourceLine]) -> Iterator[TextBlock]:
        """Yield a field; those above the first section describe the document."""
        blocks = self._nested(body)
        if not blocks or blocks[0].kind == "code":
            blocks.insert(0, TextBlock(""))
        first, *rest = blocks
        kind = "list_item" if self.depth or self.level > 1 else "notice"
        text = f"{self._text(name)}: {first.text}".strip()
        yield replace(first, text=text, kind=kind, level=int(kind == "list_item"))  # type: ignore[arg-type]
        yield from rest

    def _nested(self, lines: Sequence[SourceLine], lists: int = 0) -> list[TextBlock]:
        """Return the blocks of lines inside the current part."""
        self.depth += 1
        self.lists += lists
        blocks = list(self.read(lines))
        self.depth -= 1
        self.lists -= lists
        return blocks

    def _heading(self, lines: Sequence[SourceLine]) -> TextBlock:
        style = f"{len(lines)}{lines[-1].text[0]}"
        if style not in self.styles:
            self.styles.append(style)
        self.level = 1 + self.styles.index(style)
        title = lines[-2]
        return TextBlock(self._text(title.text), "heading", self.level, line=title.number)

    def _term(self, line: SourceLine, text: str) -> TextBlock:
        return TextBlock(self._text(text), "list_item", max(1, self.lists), line=line.number)

    def _paragraph(self, lines: Sequence[SourceLine]) -> TextBlock:
        text = " ".join(line.text[:-1] if line.text.endswith("\\") else line.text for line in lines)
        if text.endswith("::"):
            text = text[:-1] if text[-3:-2].strip() else text[:-2].rstrip()
        kind = "list_item" if self.lists else "paragraph"
        return TextBlock(self._text(text), kind, self.lists, line=lines[0].number)  # type: ignore[arg-type]

    def _text(self, text: str) -> str:
        return inline_text(text, self.substitutions)

    def _collect_substitutions(self, lines: Sequence[SourceLine]) -> None:
        for line in lines:
            if line.text.startswith(".. |") and (directive := read_directive([line])) and directive.name == "replace":
                self.substitutions[directive.substitution] = inline_text(directive.argument, {})


def _table(rows: Iterable[tuple[int, str]], substitutions: dict[str, str]) -> Iterator[TextBlock]:
    for number, text in rows:
        yield TextBlock(inline_text(text, substitutions), "table_row", line=number)
