"""Sentence boundaries of any language, from the end marks of its script and the closed classes of `languages.json`.

The full stops of most scripts end a sentence wherever they stand. A mark that also stands elsewhere, such as a period,
ends one if white space follows, and the next word is not in lower case unless it follows a word too long for an
abbreviation. Behind an abbreviation, an initial or an ordinal only a function word or an anaphor with a capital begins
a sentence. Measured against Punkt, pysbd and sentencex in docs/documents.md.

Marks of list items are bullets, numbers and letters; an initial, as in "M. Dupont", is none.

Paragraphs are separated by an empty line. The time is linear in the length of any text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile
from string import ascii_uppercase
from typing import Final, final

from sumpool.text.cleaning import clean, cut_at_spaces, paragraphs
from sumpool.text.language import ENGLISH, languages

MAX_SENTENCE_CHARACTERS: Final = 10_000
"""A longer sentence is split between words, or within a word of that length."""

FULL_STOPS: Final = (
    "\u3002\uff01\uff1f\uff61"  # Chinese and Japanese
    "\u0964\u0965\u06d4\u0589\u1362\u1367\u1368"  # Indic scripts, Urdu, Armenian, Ethiopic
    "\u104b\u17d4\u17d5\u0f0d\u0f0e\u1803\u1809\u1c7e\u1c7f"  # Burmese, Khmer, Tibetan, Mongolian, Santali
)
"""Marks that end a sentence even if no space follows."""
END_MARKS: Final = ".?!\u2026\u061f\u203c\u203d\u2047-\u2049" + FULL_STOPS
"""Marks that may end a sentence, within a set of a regular expression."""
CLOSING_MARKS: Final = "\"'\u2019\u201d)\\]}\u300d\u300f\uff09\u3011\u300b"
"""Quotation marks and brackets behind an end mark, which belong to its sentence; likewise."""
_OPEN_ELSEWHERE = "\u201c\u00bb\u00ab\u203a\u2039"
"""Quotation marks that close in some languages and open in others."""

_BULLET: Final = r"[-*+\u2022\u2023\u25e6\u00b7\u2043\u25aa\u25cf\u2013\u2014]|o"
_COUNTED: Final = r"[(\uff08]?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivx]{2,5})[.)\uff09\u3001]"
_MARK_ALONE: Final = re.compile(rf"{_BULLET}|{_COUNTED}")
_LIST_MARK: Final = re.compile(
    rf"(?:(?:{_BULLET}|(?P<letter>[A-Z])\.|{_COUNTED}|(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{1,5}}(?! \(?(?:19|20)\d\d-))"
    r"|\[\d{1,3}\]|[\u2460-\u2473])\s+|[(\uff08]?[\u4e00-\u4e5d\u5341\d]{1,3}[)\uff09\u3001])(?=\S)"
)
_ITEM_LETTER: Final = re.compile(r"\s*([A-Z])\.\s+\S")
_FOOTNOTE = r"(?:\[\w{1,3}(?: \d+)?\])*"
_END = re.compile(
    rf"[{END_MARKS}:;](?:"  # one set at the beginning, for which the search of Python is fast
    rf"(?<=[{FULL_STOPS}])[{CLOSING_MARKS}{END_MARKS}]*|"
    rf"(?:(?<=[{END_MARKS}])|(?<=[\u0561-\u0587]:)(?=\s)|(?<=[\u03ac-\u03ce];)(?=\s))"  # Armenian, Greek question mark
    rf"[{END_MARKS}]*(?:[ \u00a0\u202f](?=\u00bb))?[{CLOSING_MARKS}{_OPEN_ELSEWHERE}{END_MARKS}]*{_FOOTNOTE})"
)
_UNAMBIGUOUS = frozenset(FULL_STOPS)
_WORD = re.compile(r"[^\s\"\u201c\u201e\u00ab(\[\u2018\u201a\u2013\u2014]+$")
_LETTER = re.compile(r"[^\W_]")
_NEXT = re.compile(r"[\W_]*(\w[\w'\u2019-]*)")
_CONTINUED = frozenset(",;:.!?)]}\u3001\uff0c\uff1b")
"""Characters that do not begin a sentence."""
_INNER_MARKS = "o-\u2013\u2014"
"""List marks that also stand within a sentence: a preposition of Slavic languages, and dashes."""
_NUMERIC = "#"
"""Mark of abbreviations that are words as well, and abbreviations before a number alone, such as "no."."""
_ENDING = "-"
"""Mark of ends of words that are abbreviations, such as "Hafenstr."."""
_INTERNATIONAL = ("e.g", "i.e", "etc", "et.al", "cf", "vs", "p#", "pp#")
_LEADING = frozenset(("e.g", "i.e", "cf", "vs", "viz", "z.b", "d.h", "p.ex", "p.ej", "t.ex", "f.eks", "bl.a"))
"""Abbreviations that never end a sentence."""
_ABBREVIATION_LETTERS, _INITIAL_LETTERS, _ORDINAL_DIGITS = 3, 2, 2
_CLAUSE_WORDS, _UNPUNCTUATED_WORDS = 12, 80
_CLOSING = CLOSING_MARKS.replace("\\", "") + _OPEN_ELSEWHERE
_CLAUSE_ENDS = frozenset(":;\uff1a\uff1b")
_CONTEXT = 60
"""Characters around an end mark that are looked at."""


def has_end_mark(text: str) -> bool:
    """Return whether a text ends with a mark that may end a sentence, and quotation marks or brackets behind it."""
    return any(match.end() == len(text) for match in _END.finditer(text, max(len(text) - _CONTEXT, 0)))


def may_end_paragraph(line: str) -> bool:
    """Return whether a paragraph may end with a line: by an end mark, or a colon or semicolon before a list."""
    return has_end_mark(line) or line.rstrip(_CLOSING)[-1:] in _CLAUSE_ENDS


def list_letters(lines: Iterable[str]) -> frozenset[str]:
    """Return the capital letters that are marks of items in a text: from A on, and at least two of them begin lines."""
    begun = {letter[1] for line in lines if (letter := _ITEM_LETTER.match(line))}
    letters = frozenset(takewhile(begun.__contains__, ascii_uppercase))
    return letters if len(letters) > 1 else frozenset()


def list_mark(text: str, letters: frozenset[str] = frozenset()) -> int:
    """Return the length of the mark of a list item and the space behind it; 0 if there is none.

    Args:
        text: Line or sentence without leading space. "3.5 million" begins with a quantity, "3.5 Lists" with a mark.
        letters: Capital letters that are marks before a full stop, see `list_letters`.
    """
    mark = _LIST_MARK.match(text)
    if not mark or (mark["letter"] and mark["letter"] not in letters):
        return 0
    return 0 if mark["number"] and text[mark.end()].islower() else mark.end()


@final
class SentenceSplitter:
    """Sentence splitter for a language."""

    def __init__(self, language: str = ENGLISH) -> None:
        """Use the closed classes of a language, those of English for an unknown code."""
        known = languages().get(language) or languages()[ENGLISH]
        abbreviations = known.abbreviations.union(_INTERNATIONAL)
        self._abbreviations = frozenset(word.removesuffix(_NUMERIC) for word in abbreviations)
        self._endings = tuple(word[1:] for word in abbreviations if word.startswith(_ENDING))
        self._numeric = frozenset(word.removesuffix(_NUMERIC) for word in abbreviations if word.endswith(_NUMERIC))
        self._starters = known.function_words | known.anaphora
        self._has_ordinals = known.ordinals

    def split(self, text: str) -> list[str]:
        """Split a text into sentences with single spaces; the last one of a paragraph ends with a line feed."""
        sentences: list[str] = []
        for paragraph in paragraphs(clean(text)):
            for sentence in self._sentences(paragraph):
                is_punctuated = not _CONTINUED.isdisjoint(sentence) or _END.search(sentence)
                for clause in [sentence] if is_punctuated else self._clauses(sentence):
                    is_long = len(clause) > MAX_SENTENCE_CHARACTERS
                    parts = cut_at_spaces(clause, MAX_SENTENCE_CHARACTERS) if is_long else [clause]
                    sentences += map(str.lstrip, parts)
            sentences[-1] += "\n"
        return sentences

    def split_line(self, text: str) -> list[str]:
        """Split a text into sentences whose concatenation is the whole text in one line with single spaces.

        Every sentence but the first begins with a space; one that follows another without a space is joined to it.
        """
        line = " ".join(paragraphs(clean(text)))
        starts = [0]
        end = 0
        for sentence in self.split(text):
            if line.startswith(" ", end):
                starts.append(end)
                end += 1
            end += len(sentence.removesuffix("\n"))
        return [line[start:stop] for start, stop in pairwise([*starts, end]) if stop]

    def _sentences(self, paragraph: str) -> Iterator[str]:
        start = scanned = 0
        has_word = False
        for match in _END.finditer(paragraph):
            has_word = has_word or bool(_LETTER.search(paragraph, scanned, match.start()))
            scanned = match.end()
            if has_word and scanned < len(paragraph) and self._is_end(paragraph, start, match):
                yield paragraph[start:scanned]
                start = scanned + (paragraph[scanned] == " ")
                has_word = False
        yield paragraph[start:]

    def _clauses(self, text: str) -> Iterator[str]:
        """Cut a long text without punctuation, such as a transcript, before words that begin clauses."""
        clause: list[str] = []
        words = text.split(" ")
        for word in words if len(words) > _UNPUNCTUATED_WORDS else ():
            begins = word.lower() in self._starters or (word.isalpha() and len(word) == 1)
            if len(clause) >= _CLAUSE_WORDS and begins:
                yield " ".join(clause)
                clause = []
            clause.append(word)
        yield " ".join(clause) if clause else text

    def _is_end(self, text: str, start: int, match: re.Match[str]) -> bool:
        mark, end = match[0], match.end()
        is_full_stop = not _UNAMBIGUOUS.isdisjoint(mark)
        if not is_full_stop and text[end] != " ":
            return False
        rest = text[end : end + _CONTEXT].lstrip()
        if rest[0] in _CONTINUED and not rest.startswith("..."):
            return False
        if is_full_stop:
            return mark[-1] not in ")\uff09"
        following = _NEXT.match(rest)
        word = following[1] if following else ""
        before = _WORD.search(text[max(start, match.start() - _CONTEXT) : match.start()].rstrip())
        name = before[0] if before else ""
        if mark[-1] == ")" and mark[0] in "!?" and not (word[:1].isupper() or word[:1].isdigit()):
            return False  # an exclamation in brackets
        is_item = rest[0] not in _INNER_MARKS and list_mark(rest)
        is_number = (name.isdecimal() and len(name) <= _ORDINAL_DIGITS) or (name != "" and not name.strip("IVXLC"))
        is_ordinal = self._has_ordinals and is_number
        if word[:1].islower() and not is_item:
            is_word = name.isalpha() and len(name) > _ABBREVIATION_LETTERS and not is_ordinal
            return mark == "." and is_word and not self._is_abbreviation(name, word)
        if mark[0] != "." or mark[1:2] == ".":
            return True
        if end - start < _CONTEXT and _MARK_ALONE.fullmatch(text[start:end]):
            return False
        # An initial, or several with periods between; vowel signs and the like do not count.
        parts = [sum(map(str.isalpha, part)) for part in name.replace("-", ".").split(".")]
        is_initials = parts[-1] == 1 and max(parts) <= _INITIAL_LETTERS and not any(map(str.isdigit, name))
        is_open = self._is_abbreviation(name, word) or is_initials
        if not is_open and not is_ordinal:
            return True
        starts = len(word) > 1 and word[0].isupper() and word.lower() in self._starters
        return starts and name.lower() not in _LEADING

    def _is_abbreviation(self, name: str, following: str) -> bool:
        whole = name.lower().replace("\u2019", "'").replace("/", "'").rpartition("'")[2]
        last = whole.rpartition("-")[2]
        if self._abbreviations.isdisjoint((whole, last)) and not whole.endswith(self._endings):
            return False
        return last not in self._numeric or following[:1].isdigit()


def join(sentences: Iterable[str], paragraph: str = "\n") -> str:
    """Join sentences to a text.

    Args:
        sentences: Sentences as returned by `SentenceSplitter.split`.
        paragraph: Separator of paragraphs; with two line feeds, splitting the text again finds the same paragraphs.
    """
    return "".join(f"{text[:-1]}{paragraph}" if text.endswith("\n") else f"{text} " for text in sentences).strip()
