"""Text cleaning, the first step of all processing, samples of cleaned lines, and escapes for terminals and Markdown.

Invisible characters can hide instructions or split words, and differ between copies of the same document. Line ends
become line feeds, and these characters are removed: control characters, lone surrogates, and those that Unicode calls
"default ignorable" (zero-width, bidirectional and tag characters, variation selectors, byte-order marks, soft hyphens),
the marks of interlinear annotations (U+FFF9 to U+FFFB) and the blank Braille pattern (U+2800).
Those that spelling needs stay: joiners and non-joiners in Arabic and Indic scripts, and joiners, variation selectors
and tags of emoji.

Document text, ids, titles and file names are escaped where they are shown: control and bidirectional characters change
what a terminal or a reader sees; line feeds of a name begin a line that looks like another message, setting or row.
"""

import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028]")
IGNORABLE = (
    "\ud800-\udfff"  # lone surrogates
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u2800\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters without a shape, within a set of a regular expression."""
_ARABIC, _INDIC = "\u0620-\u074f\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff", "\u0900-\u0dff\u1780-\u17d3\u1000-\u104a"
_EMOJI = "\u203c-\u3299\U0001f000-\U0001faff"
_SPELLING = re.compile(
    rf"(?<=[{_ARABIC}])[\u200c\u200d](?=[{_ARABIC}])|(?<=[{_INDIC}])[\u200c\u200d]"
    rf"|(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    r"|(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # the flag of a region
)
_INVISIBLE = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{IGNORABLE}]+")
_INVISIBLE_IN_LAYOUT = re.compile(f"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f{IGNORABLE}]+")
"""Invisible characters except backspaces, form feeds and escapes, by which a layout is recognised."""

_SEED = 20_000_003

_UNSAFE_CHARACTERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE = re.compile(f"[{_UNSAFE_CHARACTERS}]")
_UNSAFE_IN_LINE = re.compile(f"[\n{_UNSAFE_CHARACTERS}{IGNORABLE}]+")
"""Also line feeds, and characters without a shape that spelling does not need."""
_MARKDOWN = re.compile(r"([\\`*{}\[\]<>#|~]|&(?=#?[A-Za-z0-9]+;)|(?<![^\W_])_|_(?![^\W_]))")
"""Punctuation of Markdown: an underscore with a letter on one side only, an ampersand that begins an entity."""
_LINE_MARK = re.compile(r"^([ \t]*)(?:([-+])(?=\s)|(\d+)([.)])(?=\s)|([-=])(?=[-= \t]*$))", re.MULTILINE)
"""Beginnings of lines that Markdown takes for a list item, the rule below a heading, or a break."""
_FORMULA = re.compile(r"^[=+\-@\t\r\n]")
"""Beginning of a cell that a spreadsheet would run as a formula."""
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{IGNORABLE}]+")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}


def clean(text: str) -> str:
    """Replace line ends by line feeds and remove invisible characters."""
    if text.isascii() and text.isprintable():  # as most texts in one line
        return text
    text = _LINE_END.sub("\n", text).replace("\u2029", "\n\n")
    return _INVISIBLE.sub(spelling, text)


def remove_invisible(text: str, layout: bool = False) -> tuple[str, int]:
    """Remove invisible characters and count them; `layout` keeps backspaces, form feeds and escapes.

    Line ends become line feeds, and letters with their accents one character each (NFC), so that copies of a document
    from different systems are equal.
    """
    if text.isascii() and text.isprintable():
        return text, 0
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n")
    visible = (_INVISIBLE_IN_LAYOUT if layout else _INVISIBLE).sub(spelling, text)
    return unicodedata.normalize("NFC", visible), len(text) - len(visible)


def spelling(invisible: re.Match[str]) -> str:
    """Return those of the characters without a shape in a match that the words or emoji around it need."""
    text, position, end = invisible.string, *invisible.span()
    kept = ""
    while position < end:
        match = _SPELLING.match(text, position)
        kept += match[0] if match else ""
        position = match.end() if match else position + 1
    return kept


def paragraphs(text: str) -> list[str]:
    """Split a text at empty lines; each paragraph becomes one line with single spaces."""
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        words = line.split()
        if words:
            parts[-1].extend(words)
        elif parts[-1]:
            parts.append([])
    return [" ".join(words) for words in parts if words]


def reservoir_sample(lines: Iterable[str], max_lines: int) -> list[str]:
    """Sample lines uniformly, in memory for `max_lines` of them; of fewer all are kept, in order."""
    generator = random.Random(_SEED)
    sample: list[str] = []
    for index, line in enumerate(lines):
        if len(sample) < max_lines:
            sample.append(line)
        elif (slot := generator.randrange(index + 1)) < max_lines:
            sample[slot] = line
    return sample


def cut_at_spaces(text: str, max_characters: int) -> Iterator[str]:
    """Cut a text before spaces into parts of a number of characters at most, or within a word of that length."""
    start = 0
    while len(text) - start > max_characters:
        space = text.rfind(" ", start + 1, start + max_characters)
        end = space if space > 0 else start + max_characters
        yield text[start:end]
        start = end
    yield text[start:]


class Bold(str):
    """Text that is set in bold where that is possible, such as the best score of a table."""

    __slots__ = ()


def escape(text: str) -> str:
    """Escape control and bidirectional characters, as JSON does; line feeds and tabs stay."""
    return _UNSAFE.sub(lambda match: escape_characters(match.group()), text)


def escape_line(text: str) -> str:
    """Escape line feeds and invisible characters too: of ids, titles, file names and messages."""
    return _UNSAFE_IN_LINE.sub(
        lambda match: match[0] if spelling(match) == match[0] else escape_characters(match[0]), text
    )


def escape_characters(text: str) -> str:
    """Replace every character by its escape in JSON."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def escape_markdown(text: str) -> str:
    """Escape the characters that Markdown interprets, and those of `escape`; line feeds stay."""

    def escape_mark(match: re.Match[str]) -> str:
        space, bullet, number, point, rule = match.groups("")
        mark = bullet or point or rule  # a digit cannot be escaped
        return f"{space}{number}\\{mark}"

    return _LINE_MARK.sub(escape_mark, _MARKDOWN.sub(r"\\\1", escape(text)))


def escape_markdown_line(text: str) -> str:
    """Escape the characters that Markdown interprets, and those of `escape_line`."""
    return escape_markdown(escape_line(text))


def markdown_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out a heading and rows of escaped cells as the lines of a table in Markdown."""
    heading, *others = rows
    return [f"| {' | '.join(cells)} |" for cells in (heading, ["---"] * len(heading), *others)]


def markdown_code(text: str) -> str:
    """Render text, such as a path, as a code span of one line."""
    line = escape_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def one_line(text: str) -> str:
    """Replace control and invisible characters by spaces."""
    return _CONTROL.sub(" ", text)


def escape_latex(text: str) -> str:
    """Escape the characters that LaTeX interprets; control characters become spaces."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def guard_cell(text: str) -> str:
    """Return the text of a cell that no spreadsheet takes for a formula; control characters become spaces."""
    printable = one_line(text)
    return f"'{printable}" if _FORMULA.match(text) else printable
