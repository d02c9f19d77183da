"""Tree of an HTML page, built by lxml from any markup and independent of it afterwards.

lxml is chosen because libxml2 is linear in the nesting of elements, keeps line numbers and reads nothing but the given
bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from sumpool.documents.formats import missing_library

MAX_DEPTH: Final = 100
"""Nesting of the tree; deeper elements become children of the deepest level, in their order."""
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
"""Elements without content, which have no end tag."""
_XHTML = re.compile(r"\s*<\?xml|[^>]{0,1000}<html[^>]{0,500}www\.w3\.org/1999/xhtml", re.IGNORECASE | re.DOTALL)
_SELF_CLOSED = re.compile(r"<([a-zA-Z][\w:.-]*)(\s[^<>]*)?/>")


class _Node(Protocol):
    """Element of lxml."""

    tag: str
    attrib: Mapping[str, str]
    text: str | None
    tail: str | None
    sourceline: int | None


@dataclass(slots=True)
class HtmlElement:
    """Element of a page.

    Attributes:
        tag: Name in lower case, without a namespace.
        attributes: Values by name in lower case.
        children: Elements and texts, in their order.
        line: Line of the source, from 1; None if unknown.
        size: Characters of the text inside, without the space around each text.
        linked: Those of them that are inside links.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: "list[HtmlElement | str]" = field(default_factory=list)
    line: int | None = None
    size: int = 0
    linked: int = 0

    def append(self, child: "HtmlElement | str") -> None:
        """Append a child; the size of a text is added, that of an element when it is complete."""
        self.children.append(child)
        if isinstance(child, str):
            self.size += len(child.strip())

    def close(self, parent: "HtmlElement") -> None:
        """Add the size of this complete element to the element it is in."""
        parent.size += self.size
        parent.linked += self.size if self.tag == "a" and "href" in self.attributes else self.linked

    def descendants(self) -> "Iterator[HtmlElement]":
        """Yield all elements inside, in their order."""
        stack = [self]
        while stack:
            element = stack.pop()
            if element is not self:
                yield element
            stack.extend(child for child in reversed(element.children) if not isinstance(child, str))

    def names(self) -> list[str]:
        """Return the words of `class` and `id` in lower case."""
        return f"{self.attributes.get('class', '')} {self.attributes.get('id', '')}".lower().split()

    def text(self) -> str:
        """Return the text inside as it is."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


def parse_markup(markup: str, format_name: str = "HTML") -> HtmlElement:
    """Build the tree of HTML or XHTML.

    Args:
        markup: Text of the page.
        format_name: Name of the format in the message about a missing library.

    Raises:
        ValueError: If elements are nested thousands of levels deep; the message lacks the subject.
        DataError: If lxml is not installed.
    """
    try:
        from lxml import etree
    except ImportError as error:
        raise missing_library("lxml", format_name) from error
    if _XHTML.match(markup):
        markup = _SELF_CLOSED.sub(_close_tag, markup)
    top = HtmlElement("#document")
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True, recover=True
    )
    try:
        root = etree.fromstring(markup.replace("\0", " ").encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return top  # nothing that is an element
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise ValueError("must nest its elements at most 2,048 levels deep, got more; convert it to text")
    if root is not None:
        _copy(etree.iterwalk(root, events=("start", "end")), top)
    return top


def _copy(events: "Iterable[tuple[str, _Node]]", top: HtmlElement) -> None:
    """Append the elements of a walk through a tree of lxml."""
    stack = [top]
    for event, node in events:
        if event == "start":
            element = _element(node)
            _innermost(stack).append(element)
            stack.append(element)
        else:
            element = stack.pop()
            parent = _innermost(stack)
            element.close(parent)
            if node.tail:
                parent.append(node.tail)


def _innermost(stack: list[HtmlElement]) -> HtmlElement:
    return stack[-1] if len(stack) <= MAX_DEPTH else stack[MAX_DEPTH - 1]


def _element(node: _Node) -> HtmlElement:
    """Copy an element of lxml without its children."""
    attributes = {str(name).lower(): str(value) for name, value in node.attrib.items()}
    element = HtmlElement(node.tag.rpartition("}")[2].rpartition(":")[2].lower(), attributes, [], node.sourceline)
    if node.text:
        element.append(node.text)
    return element


def _close_tag(match: re.Match[str]) -> str:
    tag, attributes = match[1], match[2] or ""
    return match[0] if tag.lower() in _VOID else f"<{tag}{attributes}></{tag}>"
