"""Boxes of Markdown dialects, opened for CommonMark: their text becomes text of the document, on the lines it had.

Boxes are admonitions and tabs of MkDocs (`!!!`, `???`, `===`), containers of Docusaurus, VitePress and Pandoc (`:::`),
directives of MyST (` ```{note} `) and alerts of GitHub (`> [!NOTE]`). Their titles become captions.
"""

import re
from typing import Final

from sumpool.documents.document import TextBlock

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


def without_boxes(text: str) -> tuple[str, list[TextBlock]]:
    """Return a text without the marks of boxes, line by line, and the titles of the boxes.

    Args:
        text: Markdown with line feeds.
    """
    reader = _Reader()
    lines = [reader.line(number, line) for number, line in enumerate(text.split("\n"), 1)]
    return "\n".join(lines), reader.captions


def _indented_title(line: str) -> str | None:
    """Return the title in the mark of a box whose text is indented, which may be empty; None for other lines."""
    if not (mark := _INDENTED.match(line + " ")):
        return None
    name, quote, title = line[mark.end("mark") :].partition('"')
    if not _NAME.fullmatch(name) or (quote and not title.endswith('"')) or not (quote or name.strip()):
        return None
    return title.rstrip('"') if quote or mark["mark"][0] != "=" else None


class _Reader:
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
