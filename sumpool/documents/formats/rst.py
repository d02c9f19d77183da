"""reStructuredText, parsed by docutils; unknown directives and roles, such as those of Sphinx, keep their text.

docutils only parses: it includes no files, opens no addresses, and resolves no references, so that substitutions of
substitutions stay small.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Directive, Parser, directives, roles

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import (
    ParsedDocument,
    ReadOptions,
    TextBlock,
    TextBlockKind,
    join_cells,
    opening_heading,
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CODE: Final = _names(
    "code code-block sourcecode parsed-literal doctest testcode testoutput testsetup testcleanup math productionlist "
    "prompt ipython console graphviz digraph graph literal mermaid"
)
_DROPPED: Final = _names(
    "toctree image include literalinclude contents index meta currentmodule module default-role role raw sectnum title "
    "tabularcolumns target-notes bibliography automodule autoclass autofunction autosummary autodata autoexception "
    "automethod autoattribute kernel-doc sectionauthor codeauthor moduleauthor highlightlang program header footer "
    "date highlight"
)
_PARAGRAPHS: Final = _names("seealso todo impl-detail availability parsed")
"""Directives of Sphinx whose text may begin beside their name."""
_VERSIONS: Final = _names("versionadded versionchanged deprecated versionremoved deprecated-removed soft-deprecated")
_WRAPPERS: Final = _names("class cssclass rst-class only tab tabs tab-set tab-item grid grid-item hlist")
_RENAMED: Final = {"centered": "rubric", "flat-table": "list-table"}
_NO_TEXT: Final = (
    nodes.comment, nodes.substitution_definition, nodes.Invisible, nodes.system_message, nodes.image, nodes.raw,
    nodes.label,
)  # fmt: skip
_NOTE: Final = "\0"
"""Mark of a footnote, which goes with the space before it."""
_ROLE_TARGET: Final = re.compile(r"(?<!\s)\s*<[^<>]*>$")
_SHORT: Final = re.compile(r"~(?:[\w.]*\.)?")
_MAX_FRAMES: Final = 5_000
"""Calls inside each other; each address of a paragraph takes three."""
_PREFIXED: Final = {"pep": "PEP ", "rfc": "RFC "}
_SILENT_ROLES: Final = frozenset(("index", "cite", "raw-html"))


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Options of a directive; those that it does not know are taken as they are."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return str

    def __bool__(self) -> bool:
        return True


class _Tolerant(Directive):  # type: ignore[misc]
    """Directive of Sphinx or of an extension.

    The argument of one that is not in the lists is code, such as the description of a function.
    """

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption()

    def run(self) -> list[nodes.Node]:
        name, argument = _plain_name(self.name), "".join(self.arguments)
        if name in _DROPPED:
            return []
        content = nodes.container()
        if name in _CODE:
            argument = "\n".join(self.content) or argument
        else:
            self.state.nested_parse(self.content, self.content_offset, content, match_titles=True)
        if name in _VERSIONS:
            argument = "".join(argument.split(maxsplit=1)[1:])
        if (not argument and name not in _CODE) or name in _WRAPPERS:
            return list(content.children)
        first = nodes.literal_block("", argument)
        if name in _VERSIONS | _PARAGRAPHS:
            first = nodes.paragraph("", "", *self.state.inline_text(argument, self.lineno)[0])
        first.line = self.lineno
        return [first, *content.children]


_find_directive = directives.directive


def _plain_name(name: str) -> str:
    """Return the name of a directive or a role without its domain."""
    name = name.rpartition(":")[2].lower()
    return _RENAMED.get(name, name)


def _directive(name: str, *context: object) -> tuple[type[Directive], list[nodes.Node]]:
    """Return the class of a directive, which takes any option."""
    name = _plain_name(name)
    found = None if name in _DROPPED | _CODE else _find_directive(name, *context)[0]
    if found is None or name in _WRAPPERS:
        return _Tolerant, []
    return type(found.__name__, (found,), {"option_spec": _AnyOption(found.option_spec or {})}), []


def _role(name: str, *_: object) -> tuple[Callable[..., tuple[list[nodes.Node], list[nodes.Node]]], list[nodes.Node]]:
    """Return a role that is its text, or the title before its target."""
    name = _plain_name(name)

    def role(_name: str, _raw: str, text: str, *_: object) -> tuple[list[nodes.Node], list[nodes.Node]]:
        if name in _SILENT_ROLES:
            return [], []
        text = _ROLE_TARGET.sub("", utils.unescape(text).removeprefix("!"))
        return [nodes.inline("", _PREFIXED.get(name, "") + _SHORT.sub("", text, count=1))], []

    return role, []


directives.directive = _directive
roles.role = _role


class _Walk:
    """Walk through the tree of a document."""

    def __init__(self, document: nodes.document) -> None:
        self._replacements = document.substitution_defs
        self._line = 1
        self._unindented = 0

    def blocks(
        self, node: nodes.Element, depth: int, kind: TextBlockKind = "paragraph", level: int = 0
    ) -> Iterator[TextBlock]:
        """Yield the blocks inside a node.

        Args:
            node: Node of docutils.
            depth: Sections around it.
            kind: Kind of its paragraphs.
            level: Lists around it.
        """
        last: TextBlock | None = None
        for child in node.children:
            self._line = child.line or self._line
            for block in self._block(child, depth, kind, level):
                if last and last.kind == "list_item" and self._line == self._unindented:
                    block = replace(block, text=f"{last.text} {block.text}".rstrip(), line=last.line)
                elif last:
                    yield last
                last = block
        if last:
            yield last

    def _block(self, node: nodes.Element, depth: int, kind: TextBlockKind, level: int) -> Iterator[TextBlock]:
        if isinstance(node, nodes.system_message) and "unexpected unindent" in node.astext():
            self._unindented = node["line"]  # of a sentence that goes on below a line with the mark of an item
        if isinstance(node, _NO_TEXT):
            return
        if isinstance(node, (nodes.title, nodes.rubric)):
            is_section = isinstance(node.parent, nodes.section) and isinstance(node, nodes.title)
            if isinstance(node.parent, nodes.table):
                yield self._text_block(node, "caption", 0)
            else:
                self._line -= is_section  # of the text, which docutils counts below it
                yield self._text_block(node, "heading", depth if is_section else depth + 1)
        elif isinstance(node, (nodes.literal_block, nodes.doctest_block, nodes.math_block)):
            yield TextBlock(node.astext().expandtabs().rstrip(), "code", line=self._line)
        elif isinstance(node, nodes.row):
            yield TextBlock(join_cells(map(self._texts, node.children)), "table_row", line=self._line)
        elif isinstance(node, nodes.field):
            is_front = depth <= 1 and node.parent.parent.tagname in ("document", "section")
            name, body = node.children  # of which those above the first section describe the document
            text = f"{self._text(name)}: {self._texts(body)}".rstrip()
            yield TextBlock(text, *(("notice", 0) if is_front else ("list_item", level + 1)), line=self._line)
        elif isinstance(node, (nodes.term, nodes.option_group)):
            yield self._text_block(node, "list_item", level + 1)
        elif isinstance(node, (nodes.caption, nodes.legend)):
            yield self._text_block(node, "caption", 0)
        elif isinstance(node, nodes.TextElement):
            yield self._text_block(node, kind, level)
        else:
            if isinstance(node, nodes.section):
                depth += 1
            elif isinstance(node, (nodes.bullet_list, nodes.enumerated_list)):
                kind, level = "list_item", level + 1
            yield from self.blocks(node, depth, kind, level)

    def _text_block(self, node: nodes.Element, kind: TextBlockKind, level: int) -> TextBlock:
        return TextBlock(self._text(node), kind, level, line=self._line)

    def _texts(self, node: nodes.Element) -> str:
        """Return the text of a node that holds blocks."""
        return " ".join(block.text for block in self.blocks(node, 0)).replace("\n", " ")

    def _text(self, node: nodes.Element) -> str:
        text = " ".join("".join(self._inline(node)).split())
        return text.replace(" " + _NOTE, "").replace(_NOTE, "")

    def _inline(self, node: nodes.Element) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.Text):
                yield child.astext()
            elif isinstance(child, nodes.substitution_reference):
                replacement = self._replacements.get(child.get("refname", ""))
                yield (replacement.astext() if replacement else "") or child.astext()
            elif isinstance(child, nodes.footnote_reference):
                yield _NOTE
            elif isinstance(child, nodes.citation_reference):
                yield f"[{child.astext()}]"
            elif isinstance(child, nodes.option):
                yield (", " if child is not node.children[0] else "") + child.astext()
            elif isinstance(child, nodes.target) or not isinstance(child, _NO_TEXT):
                yield from self._inline(child)


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read reStructuredText.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    settings = frontend.get_default_settings(Parser)
    for name, value in {
        "file_insertion_enabled": False, "raw_enabled": False, "report_level": 5, "halt_level": 5,
        "warning_stream": False, "line_length_limit": 10**9, "syntax_highlight": "none", "smart_quotes": False,
    }.items():  # fmt: skip
        setattr(settings, name, value)
    document = utils.new_document("document", settings)
    frames = sys.getrecursionlimit()
    sys.setrecursionlimit(_MAX_FRAMES)
    try:
        Parser().parse(text.translate({8: None, 12: None, 27: None}), document)
        blocks = tuple(block for block in _Walk(document).blocks(document, 0) if block.text)
    finally:
        sys.setrecursionlimit(frames)
    return ParsedDocument(blocks, opening_heading(blocks), notes)
