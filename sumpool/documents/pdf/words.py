"""Words of PDF files: hyphens at the ends of lines, joined or kept, and texts without any."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_WORDS = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_LINE_END = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)(-|\u00ad)$")
_LINE_START = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_OPEN_END = re.compile(r"\w[-/\u2013\u2014]$")
_ADDRESS_END = re.compile(r"://\S*[/.?=&_-]$")
_SOFT: Final = "\u00ad"
_TAIL: Final = 100  # characters at the end of a text that hold its last word
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
        return text + line if self._has_hyphen(first, second, start[0]) else text[:-1] + line

    def _has_hyphen(self, first: str, second: str, second_as_written: str) -> bool:
        """Return whether two parts of a word are joined by a hyphen of its own."""
        joined, hyphenated = self.counts[first + second], self.counts[f"{first}-{second}"]
        if joined or hyphenated:
            return hyphenated > joined
        if second_as_written[0].isupper():
            return not second_as_written.isupper() or len(first) < _SHORTEST
        last, following = first.rsplit("-", 1)[-1], second.split("-", 1)[0]
        if len(last) < 2 or len(following) < 2:
            return True
        return min(len(last), len(following)) >= _SHORTEST and bool(self.counts[last] and self.counts[following])


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
