"""Blocks of a PDF file: paragraphs, headings and other groups of lines, with the words that line ends divide."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.pdf.lines import PrintedLine
from sumpool.documents.sections import CAPTION, is_contents_heading

_TYPED: Final = 0.9  # share of monospaced characters in a typed document
_BOLD: Final = 0.6  # share of bold characters in a document in bold
_BLANK: Final = 1.28  # distance between paragraphs, in distances between lines
_LOOSE: Final = 1.1  # the same on pages that are set wider than the others
_RUNNING: Final = 6  # lines of a page that others continue, in a size in which it has running text
_WIDEST: Final = 4.0  # distance between the lines of a text, in font sizes
_FULL: Final = 0.8  # width of such a line, in widths of its column
_MIN_SIZE: Final = 0.1  # points; a file may set text in a font of size 0

_NOTE_SIZE: Final = 0.94  # largest size of notes, in sizes of the text
_LARGE_CODE: Final = 1.2  # size from which monospaced text is a heading, in sizes of the text
_TAIL: Final = 100  # characters at the end of a line or a text that show a page number or the last word
_FULL_LINE: Final = 0.12  # free end of a line that others continue, in widths of the column
_MONO_SHARE: Final = 0.85
_MATH_SHARE: Final = 0.3
_ALIGNED: Final = 3.0  # points between the edges of cells in one column
_STRETCHED: Final = 2.0  # widest gap of a justified line, in font sizes
_FILLED: Final = 0.8  # width of the words of a justified line, in widths of the column
_MEANING_WORDS: Final = 4  # words of a definition on its first line
_WRAPPED: Final = 3  # lines without a page number in a table of contents
_REACH: Final = 3  # lines between two rows of a table

BULLET = re.compile(
    "([\u2022\u25e6\u2023\u25aa\u25ab\u25cf\u25cb\u25a0\u25a1\u25c6\u25c7\u2043\u25ba\u25b6\u27a2\u2713\uf000-\uf0ff]"
    "\\s*|[\u2013\u2014\u2219\u00b7\u2217*\u2212-]\\s+|o\\s\\s+)(?=\\S)"
)
ENUMERATOR = re.compile(r"(\(?(\d{1,3}|[a-z]|[ivx]{1,4})\)|\d{1,3}\.|[a-z]\.|\[\d{1,3}\])\s+(?=\S)")
_LABEL = re.compile(r"\W|\(?[\dA-Za-z]{1,3}[.)]|\d{1,2}|[A-Z]?\d*(\.\d+)+\.?|\[\d+\]")
_LEADER = re.compile(r"([.·…]\s?){4,}\s*([\divxlc]{1,5}|[A-Z]-?\d+)?(,\s?\d+)*$", re.IGNORECASE)
_ENDS_IN_PAGE = re.compile(r"(^|\s)([A-Z]-)?(\d{1,4}|[ivxl]{1,6})([\u2013-]\d+)?(,\s?\d+([\u2013-]\d+)?)*$")
_NOTE_START = re.compile(r"([\u2217*†‡§¶]+|\d{1,2})\s*\S|\(\d\)\s")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_RELATION = re.compile(r"[=≤≥≈∈∑∫∏√∂→⇒±\u00d7∀∃⊂\u222a∩]")


@dataclass(frozen=True)
class Body:
    """Measures of the running text of a document.

    Attributes:
        size: Font size in points.
        leading: Distance between lines, in font sizes.
        mono: Whether the running text is monospaced.
        bold: Whether the running text is bold.
        pages: Distance between the lines of running text for each page and size that have some, in points.
    """

    size: float
    leading: float
    mono: bool
    bold: bool
    pages: Mapping[tuple[int, float], float] = field(default_factory=dict)

    def widest(self, line: PrintedLine, size: float) -> float:
        """Return the widest distance in points between a line and the next one of a paragraph in a font size."""
        usual = _BLANK * self.leading * size
        running = self.pages.get((line.page, round(line.size, 1)), 0.0)
        return usual if running <= usual else _LOOSE * running


def measure_body(lines: Sequence[PrintedLine]) -> Body:
    """Measure the running text."""
    total = sum(len(line.text) for line in lines)
    mono = sum(len(line.text) * line.share("mono") for line in lines) > _TYPED * total
    bold = sum(len(line.text) * line.share("bold") for line in lines) > _BOLD * total
    sizes, leadings = Counter[float](), Counter[float]()
    for line in lines:
        if mono or line.share("mono") < 0.5:
            sizes[max(round(line.size, 1), _MIN_SIZE)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    gaps: dict[tuple[int, float], Counter[float]] = defaultdict(Counter)  # below full lines that others continue
    for line, following in pairwise(lines):
        if not _same_column(line, following):
            continue
        gap = following.y - line.y
        if abs(line.size - size) < 0.3:
            leadings[round(gap / size, 1)] += 1
        full = line.x1 - line.left >= _FULL * (line.right - line.left) and len(line.segments) == 1
        if full and abs(line.size - following.size) < 0.3 and not line.text.endswith((".", ":", "?", "!")):
            gaps[line.page, round(line.size, 1)][round(gap, 1)] += 1
    usual = [(count, -leading) for leading, count in leadings.items() if 0.9 <= leading <= 3]
    common = {key: counts.most_common(1)[0] for key, counts in gaps.items()}
    pages = {key: gap for key, (gap, count) in common.items() if count >= _RUNNING and gap <= _WIDEST * key[1]}
    return Body(size, -max(usual)[1] if usual else 1.2, mono, bold, pages)


LineKind = Literal["text", "code", "formula", "row", "definition", "contents", "note"]
"""Kind of a line."""


def classify_lines(lines: Sequence[PrintedLine], body: Body) -> list[LineKind]:
    """Return the kind of each line."""
    kinds = [_alone(line, body) for line in lines]
    _unmark_continuations(lines, kinds, body)
    _mark_definitions(lines, kinds)
    _mark_rows(lines, kinds, body)
    _mark_contents(lines, kinds, body)
    _mark_notes(lines, kinds, body)
    return kinds


def _alone(line: PrintedLine, body: Body) -> LineKind:
    """Return the kind of a line as far as the line itself shows it."""
    text = line.text
    if _LEADER.search(text[-_TAIL:]):
        return "contents"
    if (
        not body.mono
        and line.size < _LARGE_CODE * body.size
        and line.share("mono") >= _MONO_SHARE * (1 - line.share("math")) > 0
    ):
        return "code"
    parts = text.split()
    is_scattered = len(parts) >= 5 and sum(len(part) == 1 for part in parts) > 0.8 * len(parts)
    if is_scattered or not any(map(str.isalpha, text)):  # as music and diagrams
        return "formula"
    is_symbolic = line.share("math") >= _MATH_SHARE or (len(text) >= 3 and _RELATION.search(text))
    if is_symbolic and sum(map(len, _LETTERS.findall(text))) < 0.4 * len(text):
        return "formula"
    return "text"


def _mark_rows(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark lines with several cells that align with those of a line nearby."""
    several = []
    for number, line in enumerate(lines):
        if len(line.segments) > 1 and kinds[number] in ("text", "formula") and not _is_labelled(line):
            gap = max(b.x0 - a.x1 for a, b in pairwise(line.segments))
            width = sum(segment.x1 - segment.x0 for segment in line.segments)
            is_justified = gap <= _STRETCHED * line.size and width >= _FILLED * (line.right - line.left)
            if not is_justified:
                several.append(number)
    for number, following in pairwise(several):
        line, other = lines[number], lines[following]
        near = following - number <= _REACH and _same_column(line, other)
        if near and other.y - line.y <= (_REACH + 1) * body.leading * body.size and _aligned(line, other):
            for index in range(number, following + 1):
                inside = index in (number, following) or lines[index].x0 > line.x0 + _ALIGNED
                if inside or lines[index].x1 < (line.left + line.right) / 2:
                    kinds[index] = "row"


def _is_labelled(line: PrintedLine) -> bool:
    """Return whether the first of two parts is the mark of a list item or the number of a heading."""
    return len(line.segments) == 2 and bool(_LABEL.fullmatch(line.segments[0].text))


def _unmark_continuations(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Turn a line of code or numbers into text where it continues the sentence of a full line above."""
    for number in range(1, len(lines)):
        line, before = lines[number], lines[number - 1]
        if kinds[number] not in ("code", "formula") or kinds[number - 1] != "text":
            continue
        near = _same_column(line, before)
        near = near and line.y - before.y <= 1.15 * body.leading * max(body.size, before.size)
        full = before.right - before.x1 <= _FULL_LINE * (before.right - before.left)
        if near and full and line.x0 <= before.x0 + 1 and not before.text.endswith((":", ".")):
            kinds[number] = "text"


def _mark_definitions(lines: Sequence[PrintedLine], kinds: list[LineKind]) -> None:
    """Mark lines with a term and, behind a gap, the start of what it means, in line with a line nearby."""
    for number, line in enumerate(lines):
        if len(line.segments) != 2 or kinds[number] != "text" or _is_labelled(line):
            continue
        term, meaning = line.segments
        if len(term.text.split()) > 4 or len(_LETTERS.findall(meaning.text)) < _MEANING_WORDS:
            continue
        near = (*lines[max(number - 1, 0) : number], *lines[number + 1 : number + 2])
        edges = [other.segments[-1].x0 for other in near if len(other.segments) < 3]
        if any(abs(edge - meaning.x0) <= _ALIGNED for edge in edges):
            kinds[number] = "definition"


def _aligned(line: PrintedLine, other: PrintedLine) -> bool:
    """Return whether two lines share the left edge of a cell, or the right edge or centre of a narrow one."""
    narrow = 0.4 * (line.right - line.left)
    for a in line.segments[1:]:
        for b in other.segments[1:]:
            if abs(a.x0 - b.x0) <= _ALIGNED:
                return True
            same = abs(a.x1 - b.x1) <= _ALIGNED or abs(a.x0 + a.x1 - b.x0 - b.x1) <= _ALIGNED
            if same and max(a.x1 - a.x0, b.x1 - b.x0) <= narrow:
                return True
    return False


def _mark_contents(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark the entries below the heading of a table of contents, up to the first lines without page numbers."""
    inside, last = False, 0
    for number, line in enumerate(lines):
        text = line.text
        if len(text) < 60 and is_contents_heading(text) and line.size >= 0.95 * body.size:
            inside, last = True, number
        elif inside:
            at_edge = line.right - line.x1 <= body.size
            if kinds[number] == "contents" or (at_edge and _ENDS_IN_PAGE.search(text[-_TAIL:])):
                for index in range(last + 1, number + 1):
                    kinds[index] = "contents"
                last = number
            else:
                inside = number - last <= (_WRAPPED if line.page == lines[last].page else 1)


def _mark_notes(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark the small lines at the end of each column, from the first with a mark on."""
    columns: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        columns[line.page, line.column].append(number)
    for numbers in columns.values():
        start = len(numbers)
        while start > 0 and lines[numbers[start - 1]].size <= _NOTE_SIZE * body.size:
            start -= 1
        small = numbers[start:]
        marked = [n for n in small if starts_note(lines[n]) and kinds[n] != "contents"]
        if not small or CAPTION.match(lines[small[0]].text) or len(small) > 0.6 * len(numbers):
            continue
        for number in small:
            if marked and number >= marked[0] and kinds[number] != "contents":
                kinds[number] = "note"


def starts_note(line: PrintedLine) -> bool:
    """Return whether a line starts with the mark of a note."""
    return bool(line.segments[0].mark or _NOTE_START.match(line.text))


_LARGE: Final = 1.09  # size of a heading, in sizes of the text
_LARGE_TITLE: Final = 1.15  # size of a title, in sizes of the text
_MOST: Final = 0.7  # of the characters of a heading
_MAX_LENGTH: Final = 160  # characters
_MAX_LINES: Final = 8
_DEEPEST: Final = 6

_NUMBER = re.compile(
    r"(?:(?:chapter|section|appendix|part|kapitel|chapitre|глава)\s+)?(\d{1,2}(?:\.\d{1,2})*)\.?\s+\S", re.I
)
_LETTER_NUMBER = re.compile(r"([A-Z](?:\.\d{1,2})+)\.?\s+\S")
_ROMAN = re.compile(r"[IVX]{1,5}\.\s+\S")
_LETTER = re.compile(r"[A-Z]\.\s+\S")
_DIGITS = re.compile(r"\d+")
_OPENING_WORDS: Final = (
    "abstract|summary|introduction|zusammenfassung|einleitung|kurzfassung|résumé|introducción|resumen"
    "|аннотация|введение|摘要"
)
_OPENING = re.compile(rf"(\d\.?|I\.)?\s*({_OPENING_WORDS})(?P<end>\s?[.:\u2014\u2013-])?", re.IGNORECASE)
_KEYWORD = re.compile(
    rf"({_OPENING_WORDS}|references|bibliography|acknowledge?ments?|appendix( [A-Z])?|conclusions?"
    r"|literatur(verzeichnis)?|anhang|références|bibliographie|referencias|литература|список литературы|заключение"
    r"|参考文献)[.:—\u2013-]?",
    re.IGNORECASE,
)
_BAD_TITLE = re.compile(
    r"untitled|^microsoft word|\.(dvi|tex|docx?|odt|pdf|ps|fm|indd|qxd|html?|txt|rtf)$|[\\/]|^\W*$|^doc\d", re.I
)


def heading_style(line: PrintedLine) -> tuple[float, bool, bool]:
    """Return the look of headings on one level: font size, whether they are bold, and whether italic."""
    return round(line.size * 2) / 2, line.share("bold") >= _MOST, line.share("italic") >= _MOST


def is_heading(line: PrintedLine, body: Body, free: bool) -> bool:
    """Return whether a line that starts a paragraph is a heading.

    Args:
        line: The line.
        body: Measures of the running text.
        free: Whether the next line does not continue the line, by its place or style.
    """
    text = line.text
    letters = sum(map(str.isalpha, text))
    if letters < 2 or letters < 0.35 * len(text) or len(text) > _MAX_LENGTH or CAPTION.match(text):
        return False
    if line.share("math") > 0.5 or (line.share("mono") > 0.5 and not body.mono and line.size < _LARGE * body.size):
        return False
    _, is_bold, is_italic = heading_style(line)
    if _KEYWORD.fullmatch(text) and free:
        return True
    is_running = (line.page, round(line.size, 1)) in body.pages  # in whose size the page has running text
    if line.size >= _LARGE * body.size and not is_running and not text.endswith((",", ";")):
        return True
    if not free or line.size < 0.85 * body.size or text.endswith((",", ";")):
        return False
    if is_bold and not body.bold:
        return not text.endswith(".") or numbering_level(text) > 0
    is_capitals = letters >= 4 and sum(map(str.isupper, filter(str.isalpha, text))) >= 0.8 * letters
    return numbering_level(text) > 0 and not text.endswith(".") and (is_italic or is_capitals)


def numbering_level(text: str) -> int:
    """Return the depth of a heading's number, such as 2 for "3.1 Methods"; 0 if it has none."""
    if match := _NUMBER.match(text) or _LETTER_NUMBER.match(text):
        return min(match[1].count(".") + 1, _DEEPEST)
    if _ROMAN.match(text):
        return 1
    return 2 if _LETTER.match(text) else 0


def find_title(lines: Sequence[PrintedLine], body: Body, metadata: str) -> str:
    """Return the title: that of the metadata if the first page shows it, else the largest text of the first page."""
    metadata = " ".join(metadata.split())
    sane = 4 <= len(metadata) <= 250 and not _BAD_TITLE.search(metadata)
    first = [line for line in lines if line.page == lines[0].page]
    page = squeeze(" ".join(line.text for line in first))
    if sane and squeeze(metadata) in page:
        return metadata
    # Lines in which an issue of a periodical begins its numbers, such as year and volume, behind its name.
    issues = [squeeze(line.text) for line in first if len(_DIGITS.findall(line.text)) > 1]
    large = [
        line
        for line in first
        if line.size >= _LARGE_TITLE * body.size
        and sum(map(str.isalpha, line.text)) >= 3
        and not is_contents_heading(line.text)
        and not any(map(re.compile(re.escape(squeeze(line.text)) + r"\d{2,}").search, issues))
    ]
    if large:
        largest = max(line.size for line in large)
        rows = [line for line in large if line.size >= 0.97 * largest]
        near = [rows[0]]
        for row in rows[1:_MAX_LINES]:
            if row.y - near[-1].y <= 2.2 * largest:
                near.append(row)
        bold = max(near, key=lambda row: len(row.text)).share("bold") >= _MOST
        title = " ".join(row.text for row in near if (row.share("bold") >= _MOST) == bold)
        if len(title) <= 300:
            return title
    return metadata if sane else ""


def squeeze(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return "".join(character for character in text.lower() if character.isalnum())


_WORDS = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_LINE_END = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)(-|\u00ad)$")
_LINE_START = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_OPEN_END = re.compile(r"\w[-/\u2013\u2014]$")
_ADDRESS_END = re.compile(r"://\S*[/.?=&_-]$")
_SOFT: Final = "\u00ad"
_SHORTEST: Final = 3  # letters of the parts of a word whose hyphen may be its own
_SAMPLE: Final = 40_000  # characters of a document
_LATIN = re.compile(r"(?<!\S)[^\s\u0370-\uffff]*[A-Za-z]{2}[^\s\u0370-\uffff]*(?!\S)")
_CASED = re.compile(
    r"[\W\d_]*(?:[A-Z\u00c0-\u00de]?[a-z\u00df-\u024f]+|[A-Z\u00c0-\u00de]+)(?:[-/'\u2019]\w+)*[\W\d_]*"
)
"""Word of a Latin script with its case."""
_LONG: Final = 5  # characters of a word that is unlikely to be cased by chance
_FEW: Final = 100  # long words of a text that can be judged
_SCRAMBLED: Final = 0.25  # share of long words that are cased; prose has .9, code .6
_MANY_SYMBOLS: Final = 0.4  # share of the characters; prose and code have below .01

_INDENT: Final = 0.7  # font sizes
_MAX_INDENT: Final = 6.0
_SMALL_PRINT: Final = 0.94  # largest size of what stands below a text, in its sizes
_NEIGHBOURS: Final = 4  # lines that show where a paragraph's right edge is

_SENTENCE_END = re.compile(r"[.!?:…。\uff01\uff1f][)\]”\"'\u2019»*]*$")
_RUN_IN = re.compile(r"[^\W\d_]{3}")
"""Letters of bold words that begin a paragraph, such as "DATES:"."""
_KINDS: dict[LineKind, TextBlockKind] = {
    "code": "code",
    "formula": "code",
    "row": "table_row",
    "contents": "notice",
}
_DEFINED: Final = ("definition", "text")
"""Kinds of the lines of a definition."""
_MONO_WIDTH: Final = 0.525  # of a character of a monospaced font, in font sizes
_MAX_FRONT: Final = 60  # blocks before the abstract
_MAX_AUTHORS: Final = 60  # words of a block of authors
_MAX_HEADING_LINES: Final = 3
_MAX_TITLE_GROUPS: Final = 4  # groups that may be one title
_DEEPEST_INDENT: Final = 40  # characters
_NOTICE = re.compile(
    r"^\W*(copyright\b|©|\(c\) (19|20)\d\d|isbn\b|issn\b|arxiv:|doi:|https?://\S+$|permission (is|to) "
    r"|all rights reserved|licensed under|this work is licensed)|^\W*+\S[^\s@]*@\S+$",
    re.IGNORECASE,
)


class Vocabulary:
    """Words of a document, which say whether a hyphen at the end of a line belongs to the word.

    Attributes:
        counts: How often each word stands within a line, in lower case.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Count the words of lines, without those that a line break divides."""
        self.counts: Counter[str] = Counter()
        divided = False
        for line in lines:
            words = _WORDS.findall(line.replace(_SOFT, "").lower())[divided:]
            divided = line.endswith(("-", _SOFT))
            if divided:
                words = words[:-1]
            for word in words:
                self.counts[word] += 1
                if "-" in word:
                    self.counts.update(word.split("-"))

    def join(self, lines: Sequence[str]) -> str:
        """Join the lines of a paragraph by spaces, and the words that they divide."""
        text = ""
        for line in lines:
            line = line.strip()
            match = _LINE_END.search(text[-_TAIL:])
            if match and line:
                text = self._join_word(text, match, line)
            elif text.endswith((_SOFT, "/-")):
                text = text[:-1] + line
            else:
                text += line if not text or not line or _is_glued(text, line) else f" {line}"
        return text.replace(_SOFT, "")

    def _join_word(self, text: str, end: re.Match[str], line: str) -> str:
        start = _LINE_START.match(line)
        if end[2] == _SOFT:
            return text[:-1] + line
        if start is None:
            return text + line if line[0].isdigit() else f"{text} {line}"
        first, second = end[1].lower(), start[0].lower()
        if second in ("and", "or", "und", "oder", "et", "y", "bis", "to") and not self.counts[first + second]:
            return f"{text} {line}"
        joined, hyphenated = self.counts[first + second], self.counts[f"{first}-{second}"]
        last, following = first.rsplit("-", 1)[-1], second.split("-", 1)[0]
        shorter = min(len(last), len(following))
        if joined or hyphenated:
            has_hyphen = hyphenated > joined
        elif start[0][0].isupper():
            has_hyphen = not start[0].isupper() or len(first) < _SHORTEST
        else:
            are_words = self.counts[last] and self.counts[following]
            has_hyphen = shorter < 2 or (shorter >= _SHORTEST and bool(are_words))
        return text + line if has_hyphen else text[:-1] + line


def _is_glued(text: str, line: str) -> bool:
    """Return whether a line continues a number, an address or a script without spaces."""
    if _is_wide(text[-1]) and _is_wide(line[0]):
        return True
    if text.endswith(".") and line[0].isupper():
        return False
    return bool((_OPEN_END.search(text[-_TAIL:]) and line[0].isalnum()) or _ADDRESS_END.search(text[-_TAIL:]))


def _is_wide(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"


def is_scrambled(text: str) -> bool:
    """Return whether a text has symbols or random letters for words, as fonts without Unicode values give."""
    sample = text[:_SAMPLE]
    symbols = sum(unicodedata.category(character) == "So" for character in sample)  # such as dingbats
    if symbols > _MANY_SYMBOLS * len("".join(sample.split())) and symbols >= _FEW:
        return True
    words = [word for word in _LATIN.findall(sample) if len(word) >= _LONG]
    return len(words) >= _FEW and sum(map(bool, map(_CASED.fullmatch, words))) < _SCRAMBLED * len(words)


@dataclass(slots=True)
class Group:
    """Lines of one block.

    Attributes:
        kind: Kind of the block.
        lines: Lines.
        note: Whether the block is a note below the text of its page.
        marker: Characters of the first line that mark a list item.
    """

    kind: TextBlockKind
    lines: list[PrintedLine] = field(default_factory=list)
    note: bool = False
    marker: int = 0


def group_lines(lines: Sequence[PrintedLine], kinds: Sequence[LineKind], body: Body) -> list[Group]:
    """Group lines to blocks; paragraphs that a page or column break interrupts are joined."""
    groups: list[Group] = []
    for number, (line, kind) in enumerate(zip(lines, kinds, strict=True)):
        continues = number > 0 and _same_column(lines[number - 1], line)
        continues = continues and (kind == kinds[number - 1] or (kinds[number - 1], kind) == _DEFINED)
        if continues and _continues(groups[-1], lines, number, kind, body):
            groups[-1].lines.append(line)
            continue
        caption = CAPTION.match(line.text)
        is_styled = line.size <= 0.96 * body.size or line.share("bold") > 0.05 or line.share("italic") > 0.05
        marker = BULLET.match(line.text) or ENUMERATOR.match(line.text)
        if kind in _KINDS:
            groups.append(Group(_KINDS[kind], [line]))
        elif kind == "note":
            groups.append(Group("paragraph", [line], note=True))
        elif caption and (caption["mark"].strip() or is_styled):
            groups.append(Group("caption", [line]))
        elif is_heading(line, body, _is_free(lines, number, body)):
            groups.append(Group("heading", [line]))
        elif marker:
            groups.append(Group("list_item", [line], marker=marker.end()))
        else:
            groups.append(Group("list_item" if kind == "definition" else "paragraph", [line]))
    return _join_across_breaks(groups, body)


def _same_column(line: PrintedLine, following: PrintedLine) -> bool:
    return (line.page, line.column) == (following.page, following.column)


def _is_free(lines: Sequence[PrintedLine], number: int, body: Body) -> bool:
    """Return whether a line is a paragraph of its own, by the space around it or the style of the next line."""
    line = lines[number]
    before = lines[number - 1] if number and _same_column(lines[number - 1], line) else None
    gap = body.widest(line, body.size)
    above = before is None or line.y - before.y > gap or _ends_sentence(before)
    if number + 1 == len(lines) or not _same_column(line, lines[number + 1]):
        return above
    following = lines[number + 1]
    below = following.y - line.y > gap
    restyled = abs(line.share("bold") - following.share("bold")) > 0.6 or abs(line.size - following.size) > 0.4
    restyled = restyled or abs(line.share("italic") - following.share("italic")) > 0.6
    return above and (below or restyled or _is_short(lines, number))


def _is_short(lines: Sequence[PrintedLine], number: int) -> bool:
    """Return whether the first word of the next line, in the same column, would have fitted on a line."""
    line, following = lines[number], lines[number + 1]
    near = [
        other
        for other in lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS + 1]
        if _same_column(line, other) and abs(other.size - line.size) <= 0.1 * line.size
    ]
    right = max(other.x1 for other in near)
    word = following.text.split(" ", 1)[0]
    width = (following.x1 - following.x0) * len(word) / max(len(following.text), 1)
    return right - line.x1 > width + 0.35 * line.size


def _continues(group: Group, lines: Sequence[PrintedLine], number: int, kind: LineKind, body: Body) -> bool:
    """Return whether a line continues the block of the line before it in the same column and of the same kind."""
    line, before = lines[number], lines[number - 1]
    gap = line.y - before.y
    if kind in ("contents", "row", "definition"):
        return False
    if kind in ("code", "formula"):
        return gap <= 2.5 * body.leading * body.size
    if group.kind == "heading":
        same = abs(line.size - before.size) <= 0.4 and abs(line.share("bold") - before.share("bold")) < 0.5
        return same and gap <= 1.6 * line.size and is_heading(line, body, True) and not numbering_level(line.text)
    is_fragment = min(len(before.text), len(line.text)) <= 3
    if abs(line.size - before.size) > 0.08 * max(line.size, before.size) + 0.2 and not is_fragment:
        return False
    if gap > body.widest(line, max(line.size, before.size)):
        return False
    if kind == "note" and starts_note(line):
        return False
    return not _is_new_paragraph(group, lines, number, body)


def _ends_sentence(line: PrintedLine) -> bool:
    return bool(_SENTENCE_END.search(line.text))


def _is_new_paragraph(group: Group, lines: Sequence[PrintedLine], number: int, body: Body) -> bool:
    """Return whether marks, bold words, indentation or the end of the line before show that a paragraph starts."""
    line, before, size = lines[number], lines[number - 1], lines[number].size
    shift = line.x0 - before.x0
    short = _is_short(lines, number - 1)
    ended = _ends_sentence(before)
    is_item = BULLET.match(line.text) or ENUMERATOR.match(line.text)
    if is_item and (group.kind == "list_item" or short or ended):
        return True
    if ended:  # bold words first, or a heading without space above it
        lead = line.segments[0].lead
        if lead.endswith((".", ":", "\u2014")) and _RUN_IN.search(lead, 0, len(lead) - 1):
            return True
        is_bold = line.share("bold") >= 0.9 and before.share("bold") <= 0.5
        if is_bold and is_heading(line, body, _is_free(lines, number, body)):
            return True
    if _INDENT * size <= shift <= _MAX_INDENT * size:
        if group.kind == "list_item" or group.note:
            return len(group.lines) > 1 and (short or ended)
        return short or ended
    if shift <= -_INDENT * size:
        hanging = len(group.lines) > 1 and group.lines[-1].x0 - group.lines[0].x0 > -0.2 * size
        outdented = line.x0 < group.lines[0].x0 - _INDENT * size
        back = len(group.lines) > 1 and group.lines[1].x0 - _INDENT * size > max(group.lines[0].x0, line.x0)
        if group.kind in ("list_item", "caption") or group.note:
            return back or (outdented and (len(group.lines) > 1 or short or ended))
        return short or (hanging and (ended or not outdented))
    return short and (ended or not line.text[:1].islower())


def _join_across_breaks(groups: Sequence[Group], body: Body) -> list[Group]:
    """Join paragraphs that a page, a column or a float interrupts, and put notes behind the text of their page."""
    ordered: list[Group] = []
    notes: list[Group] = []
    last: Group | None = None
    for group in groups:
        if notes and group.lines[0].page != notes[-1].lines[-1].page and not (last and _is_open(last, group, body)):
            ordered += notes
            notes = []
        if group.note:
            notes.append(group)
        elif last and _is_open(last, group, body):
            last.lines += group.lines
        else:
            ordered.append(group)
            if group.kind in ("paragraph", "list_item"):
                end, start = last.lines[-1] if last else None, group.lines[0]
                is_small = end and _same_column(end, start) and start.size < _SMALL_PRINT * end.size
                if not end or not is_small or _ends_sentence(end):  # or it goes on in the next column
                    last = group
            elif group.kind in ("heading", "code"):
                last = None
    return [*ordered, *notes]


def _is_open(last: Group, group: Group, body: Body) -> bool:
    """Return whether a paragraph goes on in a group on the next page or in the next column."""
    if group.kind != "paragraph" or group.note:
        return False
    end, start = last.lines[-1], group.lines[0]
    if _same_column(end, start) or start.page - end.page > 2 or abs(end.size - start.size) > 0.5:
        return False
    if _OPEN_END.search(end.text):
        return True
    return not _ends_sentence(end) and (start.text[:1].islower() or not end.x1 < end.right - 3 * body.size)


def compose_blocks(groups: list[Group], lines: Sequence[PrintedLine], title: str) -> Iterator[TextBlock]:
    """Yield the blocks of a document.

    Args:
        groups: Groups of lines in reading order.
        lines: All lines of the document, whose words say which hyphens at line ends are part of a word.
        title: Title of the document; empty if it has none.
    """
    wanted = squeeze(title)
    names = [squeeze(" ".join(line.text for line in group.lines)) for group in groups[:_MAX_FRONT]]
    parts = ((start, end) for start in range(len(names)) for end in range(start + 1, start + 1 + _MAX_TITLE_GROUPS))
    for start, end in parts:
        if wanted and names[start] and "".join(names[start:end]) == wanted:  # groups that together are the title
            joined = Group("heading", [line for group in groups[start:end] for line in group.lines])
            groups = [*groups[:start], joined, *groups[end:]]
            break
    _mark_authors(groups, title)
    vocabulary = Vocabulary(line.text for line in lines)
    for group in groups:
        is_long = len(group.lines) > _MAX_HEADING_LINES and group.lines[-1].text.endswith(".")
        if group.kind == "heading" and is_long:  # such as a bold abstract
            group.kind = "paragraph"
    # Levels of headings are those of their numbers, else of others in their style, else the rank of their style.
    headings = [group for group in groups if group.kind == "heading"]
    styles = [heading_style(group.lines[0]) for group in headings]
    numbers = [numbering_level(vocabulary.join([line.text for line in group.lines])) for group in headings]
    numbered: dict[tuple[float, bool, bool], Counter[int]] = defaultdict(Counter)
    for level, style in zip(numbers, styles, strict=True):
        if level:
            numbered[style][level] += 1
    ranks = {style: rank for rank, style in enumerate(sorted(set(styles), reverse=True), 1)}
    unnumbered = {
        style: numbered[style].most_common(1)[0][0]
        if 3 * numbered[style].total() >= styles.count(style)
        else min(rank, _DEEPEST)
        for style, rank in ranks.items()
    }
    levels = iter([level or unnumbered[style] for level, style in zip(numbers, styles, strict=True)])
    for group in groups:
        page = group.lines[0].page
        if group.kind == "code":
            left = min(line.x0 for line in group.lines)
            indents = (round((line.x0 - left) / (_MONO_WIDTH * line.size or 1)) for line in group.lines)
            rows = zip(indents, group.lines, strict=True)
            code = "\n".join(" " * min(indent, _DEEPEST_INDENT) + line.text for indent, line in rows)
            yield TextBlock(code, "code", page=page)
            continue
        text = " ".join(vocabulary.join([line.text for line in group.lines])[group.marker :].split())
        level = next(levels) if group.kind == "heading" else int(group.kind == "list_item")
        is_notice = group.kind == "paragraph" and _NOTICE.search(text)
        yield TextBlock(text, "notice" if is_notice else group.kind, level, page)


def _mark_authors(groups: Sequence[Group], title: str) -> None:
    """Turn what stands between the title and the abstract of a paper into notices."""
    front = [number for number, group in enumerate(groups[:_MAX_FRONT]) if group.lines[0].page == 1]
    opening = 0
    for number in front:  # a paragraph opens the text by a word such as "Abstract—"
        text = groups[number].lines[0].text
        match = _OPENING.match(text)
        if match and (match.end() == len(text) if groups[number].kind == "heading" else match["end"] is not None):
            opening = number
            break
    largest = max(range(opening), key=lambda number: (groups[number].lines[0].size, -number), default=0)
    names = [squeeze(" ".join(line.text for line in group.lines)) for group in groups[:opening]]
    heading = next((number for number, name in enumerate(names) if name and name == squeeze(title)), largest)
    for number, group in enumerate(groups[:opening]):
        words = sum(len(line.text.split()) for line in group.lines)
        if number != heading and group.kind != "caption" and words <= _MAX_AUTHORS:
            group.kind = "notice"
