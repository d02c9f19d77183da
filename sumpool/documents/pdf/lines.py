"""Lines of PDF files: segments of text, without what recurs at the margins of pages, in columns and reading order.

Initials over several lines, with which magazines, books and IEEEtran begin, are put on the line that they begin.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple, TypeVar

from sumpool.documents.pdf.runs import COMBINING, WIDE_GAP, Run

_LARGER: Final = 1.6  # smallest size, in sizes of the text beside it
_HEIGHT: Final = 0.95  # of a line above the baseline of the letter at most, in its sizes
_GAP: Final = 1.5  # widest distance of the lines beside it, in their sizes
_INITIAL_OVERLAP: Final = 0.25  # deepest step of a line into the box of the letter, in its sizes
_INITIAL_SPACE: Final = 0.3  # gap behind a letter that is a word, in sizes of the text
_INDENT: Final = 1.2  # of the first line, which begins a paragraph, in its size
_INITIAL_LINES: Final = 2
_INITIAL_CHARACTERS: Final = 20  # of the lines beside an initial
_MIN_REST: Final = 2  # letters of the word behind a letter that is a word
_WORDS: Final = frozenset("AÀIOÓEÉYUÚ\u0412\u0418\u041a\u041e\u0421\u0423\u042f")
"""Letters that are words in some language."""

_SPACE: Final = 0.14  # narrowest space between two words, in font sizes
_SEEN_SPACE: Final = 0.06  # the same where PDFium sees a space
_OVERLAP: Final = 0.85  # widest step backwards, as after an accent, in font sizes
_HOSTS: Final = 12  # segments of one height that a later one may continue
_LEVEL: Final = 0.15  # largest distance between the baselines of one segment, in font sizes
_ROW_LEVEL: Final = 0.3  # the same of one row
_RAISED: Final = 0.65  # largest distance of a raised or lowered character from its line, in font sizes
_SMALL: Final = 0.87  # largest size of a raised or lowered character, in sizes of its line

_SUPERSCRIPTS = str.maketrans("0123456789+-\u2212n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_NOTE_MARK = re.compile(r"[\d,;\u2217*†‡§¶‖\s\u2013-]+|[a-z](,[a-z])*|\[\d+\]")
_EXPONENT = re.compile(r"[+\u2212-]?\d{1,3}|n")
_DENOMINATOR = re.compile(r"\s*[/\u2044]\s*\d")
_WORD_END = re.compile(r"(\w\w|[.,;:!?)\]”\"'\u2019])$")
_QUANTITY_END = re.compile(r"(\d|\b\w|[)\]])$")
_ACCENT = re.compile(r"([\u00b4¨\u02c6\u02dcˇ˚˘˙˝¯]) ?([A-Za-z\u0131])")
_LOOSE_ACCENTS = re.compile(r"[\u00b4¨\u02c6\u02dcˇ˚˘˙˝¯`\s]*")
_LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st"}
_LIGATURES |= {"\ufb06": "st", "\x0b": "ff", "\x0c": "fi", "\r": "fl", "\x0e": "ffi", "\x0f": "ffl"}
_LIGATURES |= {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}
_CHARACTERS = str.maketrans(_LIGATURES | {"\ufffe": "-", "\x02": "-", "\u2010": "-", "\u00a0": " ", "\u2028": " "})
_COMPATIBLE = re.compile(
    "[\U0001d400-\U0001d7ff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb13-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]"
)
_CONTROL = re.compile(r"[\x00-\x08\x10-\x1a\x7f-\x9f]")


def lower_initials(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of a page with each initial at the start of the first of the lines beside it."""
    kept = list(runs)
    (usual, _), *_ = Counter(run.size for run in runs).most_common(1) or [(0.0, 0)]
    for initial in [run for run in runs if run.size >= _LARGER * usual]:
        letter = initial.text.strip()  # a capital, perhaps behind a quotation mark
        if not letter[-1:].isupper() or len(letter) > 2 or (len(letter) == 2 and letter[0].isalnum()):
            continue
        # The lines that begin beside the letter and no lower than it, from the top.
        low, high = initial.y - _HEIGHT * initial.size, initial.y + _ROW_LEVEL * initial.size / _LARGER
        near = [run for run in kept if low < run.y < high and run.size * _LARGER <= initial.size]
        rows = _rows(sorted((run for run in near if run.x1 > initial.x0), key=lambda run: run.y))
        # without those above and below the letter, and those of another column
        edge = initial.x1 - _INITIAL_OVERLAP * initial.size
        lines = [row for row in rows if edge <= row[0].x0 <= initial.x1 + _GAP * row[0].size]
        if len(lines) < _INITIAL_LINES or sum(len(run.text) for line in lines for run in line) < _INITIAL_CHARACTERS:
            continue
        first = lines[0][0]
        text = letter + first.text
        rest = first.text.split(" ")[0].rstrip(",.;:").lower()
        is_apart = first.x0 - initial.x1 > _INITIAL_SPACE * first.size
        if is_apart and letter[-1] in _WORDS and len(rest) >= _MIN_REST:  # a word of its own, by the others of the page
            others = (word for run in runs for word in run.text.split()[run.text == first.text :])
            words = {word.strip(",.;:").lower() for word in others}
            if rest in words or letter[-1].lower() + rest not in words:
                text = f"{letter} {first.text}"
        moved = {id(line[0]): line[0]._replace(x0=initial.x0) for line in lines}
        moved[id(first)] = first._replace(text=text, x0=min(first.x0, initial.x0 + _INDENT * first.size))
        kept = [moved.get(id(run), run) for run in kept if run is not initial]
    return kept


@dataclass(slots=True)
class Segment:
    """Part of a line.

    Attributes:
        text: Text with single spaces; with all of them if the font is monospaced.
        x0: Left edge in points.
        x1: Right edge in points.
        y: Baseline in points, downwards.
        size: Font size of most characters.
        bold: Share of bold characters.
        italic: Share of italic characters.
        mono: Share of monospaced characters.
        math: Share of mathematical characters.
        lead: Bold text before text that is not; empty if there is none.
        mark: Raised mark at the start, as footnotes have it; empty if there is none.
    """

    text: str
    x0: float
    x1: float
    y: float
    size: float
    bold: float = 0.0
    italic: float = 0.0
    mono: float = 0.0
    math: float = 0.0
    mark: str = ""
    lead: str = ""


_Part = TypeVar("_Part", Run, Segment)


def _rows(parts: Iterable[_Part]) -> list[list[_Part]]:
    """Return the rows of parts that are sorted by their baselines, each row from left to right."""
    rows: list[list[_Part]] = []
    for part in parts:
        if rows and abs(part.y - rows[-1][0].y) <= _ROW_LEVEL * min(part.size, rows[-1][0].size):
            rows[-1].append(part)
        else:
            rows.append([part])
    return [sorted(row, key=lambda part: part.x0) for row in rows]


@dataclass(slots=True)
class _Draft:
    """Runs of a growing segment; its baseline and size are those of its largest run."""

    runs: list[Run] = field(default_factory=list)
    x0: float = 0.0
    x1: float = 0.0
    y: float = 0.0
    size: float = 0.0

    def add(self, run: Run) -> None:
        if not self.runs or (run.size * len(run.text) > self.size * 2 and run.size > 1.1 * self.size):
            self.y, self.size = run.y, run.size
        self.x0 = min(self.x0, run.x0) if self.runs else run.x0
        self.x1 = max(self.x1, run.x1) if self.runs else run.x1
        self.runs.append(run)


def join_runs(runs: Sequence[Run]) -> list[Segment]:
    """Join the runs of a page to segments: first in the order of drawing, then by place."""
    drafts: list[_Draft] = []
    for run in lower_initials(runs):
        if not drafts or not _continues(drafts[-1], run):
            drafts.append(_Draft())
        drafts[-1].add(run)
    segments = map(_segment, _merge(drafts))
    return [segment for segment in segments if not _LOOSE_ACCENTS.fullmatch(segment.text)]


def _continues(draft: _Draft, run: Run) -> bool:
    """Return whether a run continues a segment: on its line, or raised or lowered, and near its end."""
    size = max(draft.size, run.size)
    distance, small = abs(run.y - draft.y), min(draft.size, run.size) <= _SMALL * size
    level = distance <= _LEVEL * size or (distance <= _RAISED * size and (small or len(run.text) == 1))
    return level and -_OVERLAP * size <= run.x0 - draft.x1 <= WIDE_GAP * size


def _merge(drafts: list[_Draft]) -> list[_Draft]:
    """Merge segments that were not drawn one after the other."""
    rows: dict[int, list[_Draft]] = defaultdict(list)
    merged: list[_Draft] = []
    for draft in sorted(drafts, key=lambda item: item.x0):
        row = int(draft.y // 4)
        hosts = [host for key in range(row - 2, row + 3) for host in rows[key][-_HOSTS:] if _adjoins(host, draft)]
        if hosts:
            host = max(hosts, key=lambda item: item.x1)
            for run in draft.runs:
                host.add(run)
        else:
            merged.append(draft)
            rows[row].append(draft)
    order = {id(draft): number for number, draft in enumerate(drafts)}
    return sorted(merged, key=lambda item: order[id(item)])


def _adjoins(host: _Draft, draft: _Draft) -> bool:
    size = max(host.size, draft.size)
    small = min(host.size, draft.size) <= _SMALL * size
    level = abs(host.y - draft.y) <= (_RAISED if small and draft.x0 - host.x1 < 0.3 * size else _LEVEL) * size
    return level and -0.3 * size <= draft.x0 - host.x1 <= WIDE_GAP * size


def _segment(draft: _Draft) -> Segment:
    """Compose the text of a segment."""
    runs, mark = draft.runs, ""
    if len(runs) > 1 and _is_raised(runs[0], draft) and _NOTE_MARK.fullmatch(runs[0].text.strip()):
        mark, runs = runs[0].text.strip(), runs[1:]
    text, first = "", runs[0]
    is_symbol = len(first.text) == 1 and (first.text < " " or "\x7f" <= first.text <= "\x9f")
    if is_symbol and (len(runs) == 1 or runs[1].x0 - first.x1 >= 2 * _SPACE * runs[1].size):
        runs = [first._replace(text="\u2022"), *runs[1:]]  # a character without a known meaning and a gap, as bullets
    for number, run in enumerate(runs):
        part = run.text
        if number and _is_raised(run, draft):
            fraction = _is_numerator(runs[number : number + 3], draft)
            part = f" {part}" if fraction and text[-1:].isdecimal() else part if fraction else _superscript(text, part)
        if number and part and not text.endswith(" ") and not part.startswith(" "):
            before = runs[number - 1]
            space = _SEEN_SPACE if run.spaced else _SPACE
            text += " " * (run.x0 - before.x1 > space * min(before.size, run.size))
        text += part
    whole = max(sum(len(run.text) for run in runs), 1)

    def share(style: str) -> float:
        return sum(len(run.text) for run in runs if getattr(run.font, style)) / whole

    lengths = Counter[float]()
    for run in runs:
        lengths[run.size] += len(run.text)
    size = max(lengths, key=lambda value: (lengths[value], value))
    regular = next((number for number, run in enumerate(runs) if not run.font.bold and run.text.strip()), 0)
    return Segment(
        clean_characters(text),
        draft.x0,
        draft.x1,
        next((run.y for run in runs if run.size == size and not _is_raised(run, draft)), draft.y),
        size,
        share("bold"),
        share("italic"),
        share("mono"),
        share("math"),
        mark,
        "".join(run.text for run in runs[:regular]).strip(),
    )


def _is_raised(run: Run, draft: _Draft) -> bool:
    return run.y < draft.y - _LEVEL * draft.size and run.size <= _SMALL * draft.size


def _is_numerator(runs: Sequence[Run], draft: _Draft) -> bool:
    """Return whether the first of three runs is the number above a fraction bar, before a small number below it."""
    bar = "".join(run.text for run in runs[1:])
    if not runs[0].text.strip().isdecimal() or not _DENOMINATOR.match(bar):
        return False
    number = next(run for run in runs[1:] if any(map(str.isdecimal, run.text)))
    return number.size <= _SMALL * draft.size and not _is_raised(number, draft)


def _superscript(before: str, text: str) -> str:
    """Return a raised text: nothing for the mark of a note behind a word, raised digits behind a quantity."""
    bare = text.strip()
    if _NOTE_MARK.fullmatch(bare) and _WORD_END.search(before) and not before[-1].isdigit() and not bare.isalpha():
        return ""
    if _QUANTITY_END.search(before) and _EXPONENT.fullmatch(bare):
        return bare.translate(_SUPERSCRIPTS)
    return text


def clean_characters(text: str) -> str:
    """Return text with ligatures, split accents, presentation forms and control characters resolved."""
    text = text.translate(_CHARACTERS)
    if not text.isascii():
        text = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + COMBINING[match[1]]), text)
        text = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _CONTROL.sub("", text).strip()


_DEPTH: Final = 3  # rows at each end of a page that may be headers or footers
_NEAR: Final = 3.0  # points between the heights at which one header stands on two pages
_LABEL_GAP: Final = 3.0  # between the number of a heading and its text, in font sizes
_PAGES: Final = 2  # pages that share a header
_MANY: Final = 4  # pages on which a number beside words grows with the pages
_APART: Final = 1.35  # smallest distance between a header and the text, in font sizes
_MIN_LINE_NUMBERS: Final = 5
_LARGE: Final = 1.5  # largest size of a header, in sizes of the text
_MAX_LENGTH: Final = 150  # characters of a header

_NUMBER = re.compile(r"\d+")
_EDGE_NUMBER = re.compile(r"^\W*([0-9]{1,4})\b|\b([0-9]{1,4})\W*$")
_PAGE_NUMBER = re.compile(r"\W*(page |seite |p\. ?)?(\d{1,4}|[ivxlc]{1,7})( ?(of|/|von) ?\d{1,4})?\W*", re.IGNORECASE)


@dataclass(frozen=True)
class PageSegments:
    """Segments of a page.

    Attributes:
        number: Number of the page, from 1.
        height: Height of the page in points.
        segments: Segments in the order in which they are drawn.
    """

    number: int
    height: float
    segments: list[Segment]


class _EndRow(NamedTuple):
    """Row at an end of a page.

    Attributes:
        segments: Segments of the row from left to right.
        distance: Distance from the end of the page in points.
        gap: Distance to the next row towards the middle, in font sizes.
    """

    segments: list[Segment]
    distance: float
    gap: float

    def is_page_number(self) -> bool:
        """Return whether the row is a page number apart from the text."""
        text = " ".join(segment.text for segment in self.segments)
        return self.gap >= _APART and bool(_PAGE_NUMBER.fullmatch(text))


def remove_margins(pages: Sequence[PageSegments]) -> tuple[list[PageSegments], int]:
    """Return the pages without headers, footers, page numbers and line numbers, and how many lines were removed."""
    columns = {edge for page in pages for edge in _line_number_columns(page.segments)}
    numbers = {
        id(segment)
        for page in pages
        for segment in page.segments
        if _is_number(segment) and round(segment.x1 / 4) in columns
    }
    pages = _without(pages, numbers)
    sizes = Counter[float]()
    for page in pages:
        for segment in page.segments:
            sizes[segment.size] += len(segment.text)
    largest = _LARGE * max(sizes, key=lambda size: (sizes[size], size), default=0.0)
    removed = _repeated_rows(pages, True, largest) | _repeated_rows(pages, False, largest)
    kept = _without(pages, removed)
    if not any(page.segments for page in kept):  # the same line on every page is their text
        return pages, 0
    return kept, len(removed) + len(numbers)


def _repeated_rows(pages: Sequence[PageSegments], top: bool, largest: float) -> set[int]:
    """Return the ids of the segments in headers (or footers) of all pages, in fonts up to a size."""
    ends = [(page.number, _end_rows(page, top, largest)) for page in pages]
    positions: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
    for number, rows in ends:
        for row in rows:
            for key in _keys(row, number):
                positions[key].append((row.distance, number))
    removed: set[int] = set()
    for number, rows in ends:
        depth = 0  # of the outermost rows that are headers, the last of them apart from the text
        for row in rows:
            is_repeated = any(
                len({page for distance, page in positions[key] if abs(distance - row.distance) <= _NEAR}) >= key[1]
                for key in _keys(row, number)
            )
            if not is_repeated and not (depth == 0 and row.is_page_number()):
                break
            depth += 1
        while depth and rows[depth - 1].gap < _APART:
            depth -= 1
        for row in rows[:depth]:
            removed |= {id(segment) for segment in row.segments}
    return removed


def _end_rows(page: PageSegments, top: bool, largest: float) -> list[_EndRow]:
    """Return the outermost rows of a page, from its end to the first one in a large font, which is a heading."""
    rows = _rows(sorted(page.segments, key=lambda item: item.y if top else -item.y))[: _DEPTH + 1]
    ends = []
    for row, following in zip_longest(rows[:_DEPTH], rows[1:]):
        gap = abs(following[0].y - row[0].y) / max(row[0].size, 1) if following else math.inf
        end = _EndRow(row, row[0].y if top else page.height - row[0].y, gap)
        if max(segment.size for segment in row) > largest and not end.is_page_number():
            break
        ends.append(end)
    return ends


def _keys(row: _EndRow, page: int) -> Iterator[tuple[str, int]]:
    """Yield what headers have in common: words, or a number less that of the page; and on how many pages they do."""
    for segment in row.segments:
        if len(segment.text) > _MAX_LENGTH:
            continue
        words = _NUMBER.sub("#", segment.text.lower())
        if any(character.isalpha() for character in words):
            yield words, _PAGES
        match = _EDGE_NUMBER.search(segment.text)
        if match:
            near = any(0 <= other.x0 - segment.x1 < _LABEL_GAP * segment.size for other in row.segments)
            is_beside_words = near or match[0] != segment.text
            yield f"#{int(match[1] or match[2]) - page}", _MANY if is_beside_words else _PAGES


def _line_number_columns(segments: Sequence[Segment]) -> Iterator[int]:
    """Yield the right edges of the columns of numbers beside the text that count its lines, in steps of 4 points."""
    columns: dict[int, list[Segment]] = defaultdict(list)
    for segment in segments:
        if _is_number(segment):
            columns[round(segment.x1 / 4)].append(segment)
    for edge, numbers in columns.items():
        if len(numbers) < _MIN_LINE_NUMBERS:
            continue
        numbers.sort(key=lambda item: item.y)
        steps = Counter(int(b.text) - int(a.text) for a, b in pairwise(numbers))
        step, count = steps.most_common(1)[0]
        x0, x1 = min(s.x0 for s in numbers), max(s.x1 for s in numbers)
        crossing = sum(s.x0 < x1 and s.x1 > x0 for s in segments) - len(numbers)
        if 1 <= step <= 10 and count >= 0.8 * (len(numbers) - 1) and crossing <= 0.1 * len(segments):
            yield edge


def _without(pages: Sequence[PageSegments], removed: set[int]) -> list[PageSegments]:
    """Return the pages without the segments of these ids."""
    return [
        PageSegments(page.number, page.height, [segment for segment in page.segments if id(segment) not in removed])
        for page in pages
    ]


def _is_number(segment: Segment) -> bool:
    return segment.text.isascii() and segment.text.isdecimal() and len(segment.text) <= 4


_EDGES: Final = 24  # most frequent left edges that may be those of a right column
_MIN_LINES: Final = 3  # of a column
_FEW_LINES: Final = 5  # below which the lines of a column must be fuller and longer
_FULL: Final = 0.75  # width of a full line, in widths of its column
_FULL_SHARE: Final = 0.4  # of full lines in a column of prose
_FLUSH_SHARE: Final = 0.3  # of lines with the same left edge in a column of prose
_MIN_CHARACTERS: Final = 14  # of a line of prose in a column, on average
_FRONT_GAP: Final = 1.6  # between the authors and the columns, in font sizes
_SAME: Final = 3.0  # points


@dataclass(slots=True)
class PrintedLine:
    """Line of a column.

    Attributes:
        segments: Parts of the line from left to right, with wide gaps between them.
        page: Number of the page, from 1.
        column: Number of the column on the page, from 0; parts of the page that are interrupted differ in it.
        left: Left edge of the column in points.
        right: Right edge of the column in points.
        text: Text with a space at wide gaps.
        x0: Left edge in points.
        x1: Right edge in points.
        y: Baseline of the longest part in points, downwards.
        size: Font size of the longest part in points.
    """

    segments: list[Segment]
    page: int
    column: int
    left: float
    right: float
    text: str = field(init=False)
    x0: float = field(init=False)
    x1: float = field(init=False)
    y: float = field(init=False)
    size: float = field(init=False)

    def __post_init__(self) -> None:
        """Measure the line."""
        self.text = " ".join(segment.text for segment in self.segments)
        self.x0, self.x1 = self.segments[0].x0, self.segments[-1].x1
        longest = max(self.segments, key=lambda segment: len(segment.text))
        self.y, self.size = longest.y, longest.size

    def share(self, style: str) -> float:
        """Return the share of characters in a style: "bold", "italic", "mono" or "math"."""
        if len(self.segments) == 1:  # as most lines are
            return float(getattr(self.segments[0], style))
        lengths = [max(len(segment.text), 1) for segment in self.segments]
        shares = (getattr(segment, style) * length for segment, length in zip(self.segments, lengths, strict=True))
        return float(sum(shares)) / sum(lengths)


def order_lines(page: PageSegments, gutters: Sequence[float]) -> list[PrintedLine]:
    """Return the lines of a page in reading order.

    Args:
        page: The page.
        gutters: Left edges of right columns that other pages have; on these, short columns count as columns too.
    """
    front, main = _split_front(page.segments, gutters) if page.number == 1 else ([], page.segments)
    columns = [*_columns(front, ()), *_columns(main, gutters)]
    lines: list[PrintedLine] = []
    for column, group in enumerate(columns):
        left = min(segment.x0 for segment in group)
        right = max(segment.x1 for segment in group)
        rows = _rows(sorted(group, key=lambda item: item.y))
        lines += [PrintedLine(row, page.number, column, left, right) for row in rows]
    return lines


def _split_front(segments: list[Segment], gutters: Sequence[float]) -> tuple[list[Segment], list[Segment]]:
    """Split title and authors from the columns below them, at a gap across the page."""
    gutter = find_gutter(segments) or _known_gutter(segments, gutters)
    if gutter is None:
        return [], segments
    ordered = sorted(segments, key=lambda segment: segment.y)
    front = 0
    for number, (segment, following) in enumerate(pairwise(ordered), 1):
        if following.y - segment.y < _FRONT_GAP * following.size:
            continue
        above = ordered[:number]
        across, left, right = ([item for item in above if _side(item, gutter) == side] for side in (0, -1, 1))
        if _is_prose(left) or _is_prose(right) or (len(across) >= _FEW_LINES and _is_prose(across)):
            break
        if left and right and across:
            front = number
    return ordered[:front], ordered[front:]


def find_gutter(segments: Sequence[Segment], margins: bool = False) -> float | None:
    """Return the left edge of the right column of a page; None if the page has one column.

    Args:
        segments: Segments of the page.
        margins: Whether lines in a margin beside the text are a column too.
    """
    edges = Counter(round(segment.x0 / _SAME) for segment in segments)
    best, best_lines = None, 0
    for edge, count in edges.most_common(_EDGES):
        if count + edges[edge + 1] < _MIN_LINES:
            continue
        gutter = min(s.x0 for s in segments if round(s.x0 / _SAME) == edge)
        lines = sum(
            len(left) + len(right) for left, right in _bands(segments, gutter) if _are_columns(left, right, margins)
        )
        if lines > best_lines:
            best, best_lines = gutter, lines
    return best


def _columns(segments: list[Segment], gutters: Sequence[float]) -> list[list[Segment]]:
    """Split segments into columns in reading order."""
    gutter = find_gutter(segments) or _known_gutter(segments, gutters)
    margins = gutter is None
    gutter = gutter or find_gutter(segments, margins=True)
    if gutter is None:
        return [segments] if segments else []
    columns: list[list[Segment]] = []
    wide: list[list[Segment]] = []
    for left, right in _bands(segments, gutter):
        if left and right and (gutter in gutters or _are_columns(left, right, margins)):
            columns += [*_split_wide(wide), *_columns(left, ()), *_columns(right, ())]
            wide = []
        elif wide and ((left and right) or _side((left or right)[0], gutter) == _side(wide[-1][-1], gutter) == 0):
            wide[-1] += left + right
        else:
            wide.append(left + right)
    return [*columns, *_split_wide(wide)]


def _split_wide(parts: list[list[Segment]]) -> list[list[Segment]]:
    """Return the columns of what stands across a gutter or on one side of it, such as an abstract beside a margin."""
    whole = [segment for part in parts for segment in part]
    return parts if len(parts) < 2 or find_gutter(whole, margins=True) is None else _columns(whole, ())


def _known_gutter(segments: Sequence[Segment], gutters: Sequence[float]) -> float | None:
    """Return the gutter of other pages at which most segments of this page start; None if there is none."""
    hits = {edge: sum(abs(segment.x0 - edge) <= _SAME for segment in segments) for edge in gutters}
    best = max(hits, key=lambda edge: hits[edge], default=None)
    return best if best is not None and hits[best] else None


def _side(segment: Segment, gutter: float) -> int:
    """Return -1 for a segment left of the gutter, 1 for one right of it, 0 for one across it."""
    if segment.x0 >= gutter - _SAME:
        return 1
    return -1 if segment.x1 - gutter <= 0.08 * (segment.x1 - segment.x0) else 0


def _bands(segments: Iterable[Segment], gutter: float) -> list[tuple[list[Segment], list[Segment]]]:
    """Return the parts of a page between segments across the gutter; such a segment is a part of its own."""
    bands: list[tuple[list[Segment], list[Segment]]] = [([], [])]
    for segment in sorted(segments, key=lambda item: (item.y, item.x0)):
        side = _side(segment, gutter)
        if side == 0:
            bands += [([segment], []), ([], [])]
        else:
            bands[-1][side == 1].append(segment)
    return [band for band in bands if band[0] or band[1]]


def _is_prose(segments: Sequence[Segment]) -> bool:
    """Return whether most lines of a column fill it."""
    if len(segments) < _MIN_LINES:
        return False
    widths = sorted(segment.x1 - segment.x0 for segment in segments)
    width = widths[int(0.9 * (len(widths) - 1))]
    full = sum(value >= _FULL * width for value in widths) / len(widths)
    edges = Counter(round(segment.x0 / _SAME) for segment in segments)
    if max(edges.values()) < _FLUSH_SHARE * len(segments):  # centred lines
        return False
    characters = sum(len(s.text) for s in segments) / len(segments)
    if len(segments) < _FEW_LINES:
        return full >= 1.5 * _FULL_SHARE and characters >= 2 * _MIN_CHARACTERS
    return full >= _FULL_SHARE and characters >= _MIN_CHARACTERS


def _are_columns(left: Sequence[Segment], right: Sequence[Segment], margins: bool) -> bool:
    """Return whether two sides of a gutter are texts of their own: prose, or prose and lines in a margin beside it."""
    if not left or not right or left[0].y > right[-1].y or right[0].y > left[-1].y:
        return False
    prose = _is_prose(left), _is_prose(right)
    if all(prose) or not any(prose) or not margins:
        return all(prose)
    edge = min(segment.x0 for segment in right)
    flush = [len(segment.text) for segment in right if segment.x0 - edge <= _SAME]
    if len(flush) < _FLUSH_SHARE * len(right) or sum(flush) < _MIN_CHARACTERS * len(flush):
        return False
    # Most lines of a margin stand beside the text, and not on its lines as the cells of a table do.
    margin, text = (left, right) if prose[1] else (right, left)
    near = [line for line in margin if text[0].y <= line.y <= text[-1].y]
    if len(near) < _MIN_LINES or 2 * sum(len(line.text) for line in near) < _MIN_CHARACTERS * len(near):
        return False
    level = sum(any(abs(line.y - other.y) <= _ROW_LEVEL * line.size / 2 for other in text) for line in near)
    return level < len(near) / 2
