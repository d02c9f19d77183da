"""Directives of reStructuredText and Sphinx: their parts, and the kinds of those that are not paragraphs."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sumpool.documents.rst.lines import SourceLine

_DIRECTIVE = re.compile(
    r"\.\.\s+(?:\|(?P<substitution>[^|]+)\|\s+)?(?P<name>[\w.+-]+(?::[\w.+-]+)*)\s?::(?:\s+(?P<argument>.*))?$"
)
_OPTION = re.compile(r":[\w-]+:(?:\s|$)")

CODE: Final = frozenset(
    re.split(
        r"\s+",
        """code code-block sourcecode parsed-literal doctest testcode testoutput testsetup math productionlist prompt
        ipython console graphviz digraph highlight literal""",
    )
)
DROPPED: Final = frozenset(
    re.split(
        r"\s+",
        """toctree image include literalinclude contents index meta currentmodule module default-role role raw sectnum
        title tabularcolumns target-notes bibliography automodule autoclass autofunction autosummary autodata
        autoexception automethod autoattribute kernel-doc sectionauthor codeauthor moduleauthor highlightlang program
        header footer date unicode""",
    )
)
TITLED: Final = frozenset(("topic", "sidebar", "admonition", "rubric", "centered"))
VERSIONS: Final = frozenset(
    ("versionadded", "versionchanged", "deprecated", "versionremoved", "deprecated-removed", "soft-deprecated")
)
TABLES: Final = frozenset(("table", "list-table", "csv-table", "flat-table"))
WRAPPERS: Final = frozenset(
    ("class", "container", "cssclass", "rst-class", "only", "compound", "highlights", "tab", "tabs")
)
PARAGRAPHS: Final = frozenset(
    re.split(
        r"\s+",
        """note warning tip hint important attention caution danger error seealso todo impl-detail epigraph pull-quote
        parsed availability""",
    )
)


class Directive(NamedTuple):
    """Parts of a directive.

    Attributes:
        name: Name without a domain, in lower case.
        argument: Text behind the name.
        body: Lines below its options.
        substitution: Name of the substitution that it defines; empty for others.
    """

    name: str
    argument: str
    body: Sequence[SourceLine]
    substitution: str


def read_directive(lines: Sequence[SourceLine]) -> Directive | None:
    """Return the parts of a directive from its lines; None for other explicit markup."""
    match = _DIRECTIVE.match(lines[0].text)
    if not match:
        return None
    argument = [match["argument"] or ""]
    index = 1
    while index < len(lines) and lines[index].text and not _OPTION.match(lines[index].text) and argument[0]:
        argument.append(lines[index].text)
        index += 1
    while index < len(lines) and _OPTION.match(lines[index].text):
        indent = lines[index].indent
        index += 1
        while index < len(lines) and lines[index].text and lines[index].indent > indent:
            index += 1
    name = match["name"].rsplit(":", 1)[-1].lower()
    return Directive(name, " ".join(argument).strip(), lines[index:], match["substitution"] or "")
