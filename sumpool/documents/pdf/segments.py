"""Segments of lines on the pages of a PDF file: runs on one baseline without wide gaps between them.

Initials over several lines, with which magazines, books and IEEEtran begin, are put on the line that they begin.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sumpool.documents.pdf.runs import COMBINING, Run

_LARGER: Final = 1.6  # smallest size, in sizes of the text beside it
_HEIGHT: Final = 0.95  # of a line above the baseline of the letter at most, in its sizes
_GAP: Final = 1.5  # widest distance of the lines beside it, in their sizes
_INITIAL_OVERLAP: Final = 0.25  # deepest step of a line into the box of the letter, in its sizes
_INITIAL_SPACE: Final = 0.3  # gap behind a letter that is a word, in sizes of the text
_INITIAL_LEVEL: Final = 0.3  # largest distance between baselines of one line, in font sizes
_INDENT: Final = 1.2  # of the first line, which begins a paragraph, in its size
_MIN_LINES: Final = 2
_MIN_CHARACTERS: Final = 20  # of the lines beside an initial
_MIN_REST: Final = 2  # letters of the word behind a letter that is a word
_WORDS: Final = frozenset("AÀIOÓEÉYUÚ\u0412\u0418\u041a\u041e\u0421\u0423\u042f")
"""Letters that are words in some language."""

GAP: Final = 0.9
"""Widest gap between two words of a segment, in font sizes."""

_SPACE: Final = 0.14  # narrowest space between two words, in font sizes
_SEEN_SPACE: Final = 0.06  # the same where PDFium sees a space
_OVERLAP: Final = 0.85  # widest step backwards, as after an accent, in font sizes
_HOSTS: Final = 12  # segments of one height that a later one may continue
_LEVEL: Final = 0.15  # largest distance between the baselines of one line, in font sizes
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
_CEDILLA = re.compile(r"([A-Za-z]) ?(\u00b8)")
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
    for initial in [run for run in runs if run.size >= _LARGER * usual and _is_letter(run)]:
        lines = _lines_beside(initial, kept)
        if len(lines) < _MIN_LINES or sum(len(run.text) for line in lines for run in line) < _MIN_CHARACTERS:
            continue
        first = lines[0][0]
        letter = initial.text.strip()
        is_apart = first.x0 - initial.x1 > _INITIAL_SPACE * first.size
        text = f"{letter} {first.text}" if is_apart and _is_word(letter, first.text, runs) else letter + first.text
        moved = {id(line[0]): line[0]._replace(x0=initial.x0) for line in lines}
        moved[id(first)] = first._replace(text=text, x0=min(first.x0, initial.x0 + _INDENT * first.size))
        kept = [moved.get(id(run), run) for run in kept if run is not initial]
    return kept


def _is_letter(run: Run) -> bool:
    """Return whether a run is a capital letter, perhaps behind a quotation mark."""
    text = run.text.strip()
    return text[-1:].isupper() and (len(text) == 1 or (len(text) == 2 and not text[0].isalnum()))


def _is_word(letter: str, text: str, runs: Sequence[Run]) -> bool:
    """Return whether an initial is a word of its own before a text, by the other words of the page."""
    rest = text.split()[0].rstrip(",.;:").lower()
    if letter[-1] not in _WORDS or len(rest) < _MIN_REST:
        return False
    words = {word.strip(",.;:").lower() for run in runs for word in run.text.split()[run.text == text :]}
    return rest in words or letter[-1].lower() + rest not in words


def _lines_beside(initial: Run, runs: Sequence[Run]) -> list[list[Run]]:
    """Return the lines that begin beside a letter and no lower than it, from the top."""
    low, high = initial.y - _HEIGHT * initial.size, initial.y + _INITIAL_LEVEL * initial.size / _LARGER
    edge = initial.x1 - _INITIAL_OVERLAP * initial.size
    near = [run for run in runs if low < run.y < high and run.size * _LARGER <= initial.size and run.x1 > initial.x0]
    lines: list[list[Run]] = []
    for run in sorted(near, key=lambda run: run.y):
        if lines and run.y - lines[-1][-1].y <= _INITIAL_LEVEL * run.size:
            lines[-1].append(run)
        else:
            lines.append([run])
    lines = [sorted(line, key=lambda run: run.x0) for line in lines]
    # without those above and below the letter, and those of another column
    return [line for line in lines if edge <= line[0].x0 <= initial.x1 + _GAP * line[0].size]


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


def join_runs(runs: Iterable[Run]) -> list[Segment]:
    """Join the runs of a page to segments: first in the order of drawing, then by place."""
    drafts: list[_Draft] = []
    for run in lower_initials(tuple(runs)):
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
    return level and -_OVERLAP * size <= run.x0 - draft.x1 <= GAP * size


def _merge(drafts: list[_Draft]) -> list[_Draft]:
    """Merge segments that were not drawn one after the other."""
    rows: dict[int, list[_Draft]] = defaultdict(list)
    merged: list[_Draft] = []
    for draft in sorted(drafts, key=lambda item: item.x0):
        row = int(draft.y // 4)
        near = [host for key in range(row - 2, row + 3) for host in rows[key][-_HOSTS:] if _adjoins(host, draft)]
        if near:
            host = max(near, key=lambda item: item.x1)
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
    return level and -0.3 * size <= draft.x0 - host.x1 <= GAP * size


def _segment(draft: _Draft) -> Segment:
    """Compose the text of a segment."""
    runs, mark = draft.runs, ""
    if len(runs) > 1 and _is_raised(runs[0], draft) and _NOTE_MARK.fullmatch(runs[0].text.strip()):
        mark, runs = runs[0].text.strip(), runs[1:]
    text = ""
    if _is_symbol(runs):
        runs = [runs[0]._replace(text="\u2022"), *runs[1:]]
    for number, run in enumerate(runs):
        part = run.text
        if number and _is_raised(run, draft):
            fraction = _is_numerator(runs[number : number + 3], draft)
            part = f" {part}" if fraction and text[-1:].isdecimal() else part if fraction else _superscript(text, part)
        if number and part:
            text += _spacing(text, part, runs[number - 1], run)
        text += part
    whole = max(sum(len(run.text) for run in runs), 1)

    def share(style: str) -> float:
        return sum(len(run.text) for run in runs if getattr(run.font, style)) / whole

    lengths = Counter[float]()
    for run in runs:
        lengths[run.size] += len(run.text)
    size = max(lengths, key=lambda value: (lengths[value], value))
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
        _lead(runs),
    )


def _lead(runs: Sequence[Run]) -> str:
    """Return the bold text at the start of a segment that is not bold behind it."""
    regular = next((number for number, run in enumerate(runs) if not run.font.bold and run.text.strip()), 0)
    return "".join(run.text for run in runs[:regular]).strip()


def _is_symbol(runs: Sequence[Run]) -> bool:
    """Return whether a segment starts with a character without a known meaning and a gap, as bullets do."""
    first = runs[0].text
    if len(first) != 1 or not (first < " " or "\x7f" <= first <= "\x9f"):
        return False
    return len(runs) == 1 or runs[1].x0 - runs[0].x1 >= 2 * _SPACE * runs[1].size


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


def _spacing(text: str, part: str, before: Run, run: Run) -> str:
    """Return the space between two runs."""
    gap, size = run.x0 - before.x1, min(before.size, run.size)
    if text.endswith(" ") or part.startswith(" ") or gap <= (_SEEN_SPACE if run.spaced else _SPACE) * size:
        return ""
    return " "


def clean_characters(text: str) -> str:
    """Return text with ligatures, split accents, presentation forms and control characters resolved."""
    text = text.translate(_CHARACTERS)
    if not text.isascii():
        text = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + COMBINING[match[1]]), text)
        text = _CEDILLA.sub(lambda match: unicodedata.normalize("NFC", match[1] + COMBINING[match[2]]), text)
        text = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _CONTROL.sub("", text).strip()
