"""What is done to every text before anything else looks at it.

Invisible characters can hide instructions or break words apart, and differ between copies of the same document. So
line ends become line feeds, and these characters go: control characters, lone surrogates, and whatever Unicode calls
"default ignorable" (zero-width, bidirectional and tag characters, variation selectors, byte-order marks, soft hyphens).
The price: emoji joined by zero-width joiners fall into their parts, and Persian words lose the non-joiner.
"""

import re

_LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028]")
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff"  # control characters, lone surrogates
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]+"
)

_HEADING = 8
"""Words of a heading at most."""
_MARKS = ".!?:;,"


def clean(text: str) -> str:
    """Make line ends line feeds and take invisible characters out."""
    text = _LINE_END.sub("\n", text).replace("\u2029", "\n\n")
    return _INVISIBLE.sub("", text)


def paragraphs(text: str) -> list[str]:
    """Split a text at its empty lines, and make every paragraph one line with single spaces."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        words = line.split()
        if words:
            found[-1].extend(words)
        elif found[-1]:
            found.append([])
    return [" ".join(words) for words in found if words]


def without_headings(text: str) -> str:
    """Take away headings in capitals, which are no sentences: alone in a paragraph or at its beginning.

    A heading is a line of a few words, without small letters and without a mark at its end.
    """
    kept: list[str] = []
    begins = True
    for line in text.split("\n"):
        if begins and _is_heading(line):
            continue
        begins = not line.strip()
        kept.append(line)
    return "\n".join(kept)


def _is_heading(line: str) -> bool:
    return line.isupper() and len(line.split()) <= _HEADING and line.rstrip()[-1] not in _MARKS
