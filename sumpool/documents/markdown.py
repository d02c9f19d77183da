"""Documents as Markdown, as `sumpool convert` prints them; `formats.markdown` reads the same blocks from it.

What Markdown has no mark for stands in comments: the page of what follows, and notices and captions.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from sumpool.documents.document import Document, TextBlock, opening_heading
from sumpool.documents.sections import is_caption
from sumpool.text.cleaning import escape, escape_line, escape_markdown_line, markdown_table

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
    for (block_page, kind), group in groupby(blocks, key=lambda block: (block.page, _kind(block))):
        if block_page != page:
            page = block_page
            yield f"<!-- page {page} -->"
        if kind in ("notice", "caption"):
            yield f"<!-- {kind} -->"
        if kind == "list_item":
            yield "\n".join(_items(group))
        elif kind == "table_row":
            yield "\n".join(_table([block.text for block in group]))
        else:
            yield from map(_part, group)
        if kind in ("notice", "caption"):
            yield f"<!-- /{kind} -->"


def _kind(block: TextBlock) -> str:
    """Return the kind that is marked; the words of most captions say what they are."""
    return "paragraph" if block.kind == "caption" and is_caption(block.text) else block.kind


def _part(block: TextBlock) -> str:
    if block.kind == "code":
        fence = "`" * (1 + max(2, *map(len, re.findall("`+", block.text)), 0))
        return f"{fence}\n{escape(block.text)}\n{fence}"
    text = escape_markdown_line(block.text)
    if block.kind == "heading":
        return f"{'#' * min(block.level, _MAX_LEVEL)} {text}"
    return f"\\{text}" if _BOX_MARK.match(text) else text


def _items(blocks: Iterator[TextBlock]) -> Iterator[str]:
    """Yield the items of a list; one that is more than a level deeper than the last one opens several lists."""
    level = 0
    for block in blocks:
        inside = min(level, block.level - 1)
        yield "  " * inside + "- " * (block.level - inside) + escape_markdown_line(block.text)
        level = block.level


def _table(rows: Sequence[str]) -> list[str]:
    """Lay out rows whose cells are separated by bars; the first is the heading."""
    cells = [[escape_markdown_line(cell.strip()) for cell in f" {row} ".split(" |")] for row in rows]
    width = max(map(len, cells))
    return markdown_table([row + [""] * (width - len(row)) for row in cells])
