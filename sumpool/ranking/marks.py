"""Marks of readers: which sentences a summary of a document should consist of, and which it should not.

A sheet shows the sentences of a document with their numbers, below the fields that a reader fills in (docs/ranking.md).
Marks are kept as numbers of sentences together with a hash of every sentence: they hold none of the document's text,
and are found again in the document although a later version splits it otherwise.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal, get_args

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence

Role = Literal["own summary", "caption", "byline", "quotation", "comment", "notice", "navigation", "appendix"]
"""What a sentence is to its document, where it is not part of its running text."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
CHOICES: Final = ("best", "good", "dep", "junk")
"""Fields of sentences: the summary in order of preference, others fit for it, those that do not stand alone, and those
without content."""
MARKED_KINDS: Final = ("paragraph", "list_item", "caption", "notice")
"""Kinds of blocks whose sentences have numbers in a sheet."""
HEAD, TAIL = 200, 30
"""Sentences of a long document at its beginning and its end that a sheet shows."""
_SHOWN_WORDS = 60
_RANGE_CHARACTERS = 19
_HASH_DIGITS: Final = 8
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Marks:
    """What a reader says about a document.

    Attributes:
        best: Indices of the sentences of a summary of some 60 words, the most important first; one to four.
        good: Indices of other sentences that such a summary could have.
        dep: Indices of sentences that cannot be understood without the text around them, of those that were judged.
        junk: Indices of sentences without content, such as navigation, captions and fragments.
        roles: Indices of the sentences of each role.
        judged: Number of sentences, from the first that is shown, of which `dep` was judged; sentences in `best` and
            `good` count as judged wherever they are.
        kind: Kind of document, such as "minutes".
        says: What a summary must say, in the reader's words.
        hashes: Hash of every sentence of the document, see `sentence_hashes`.
    """

    best: tuple[int, ...]
    good: tuple[int, ...] = ()
    dep: tuple[int, ...] = ()
    junk: tuple[int, ...] = ()
    roles: Mapping[Role, tuple[int, ...]] = field(default_factory=dict)
    judged: int = 30
    kind: str = ""
    says: str = ""
    hashes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the marks as JSON; empty fields are left out."""
        content: dict[str, Any] = {name: list(getattr(self, name)) for name in CHOICES}
        content |= {"roles": {role: list(indices) for role, indices in self.roles.items()}}
        content |= {"judged": self.judged, "kind": self.kind, "says": self.says, "hashes": "".join(self.hashes)}
        return {name: value for name, value in content.items() if value}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Marks":
        """Return marks as `to_json` writes them.

        Raises:
            ValueError: If a field has another type.
        """
        try:
            hashes = str(content.get("hashes", ""))
            best, good, dep, junk = (tuple(map(int, content.get(name, ()))) for name in CHOICES)
            return cls(
                best,
                good,
                dep,
                junk,
                roles={role: tuple(map(int, content.get("roles", {}).get(role, ()))) for role in ROLES},
                judged=int(content.get("judged", 0)),
                kind=str(content.get("kind", "")),
                says=str(content.get("says", "")),
                hashes=tuple(hashes[start : start + _HASH_DIGITS] for start in range(0, len(hashes), _HASH_DIGITS)),
            )
        except (TypeError, AttributeError) as error:
            raise ValueError(f"must be marks of a document, got {error}") from error

    def moved_to(self, sentences: Sequence[SourceSentence]) -> "Marks":
        """Return the marks with the indices of the same sentences in a document that may be split otherwise.

        Sentences are the same if their hashes are, in the order of the document; marks of others are dropped.
        """
        hashes = sentence_hashes(sentences)
        if hashes == self.hashes:
            return self
        blocks = SequenceMatcher(None, self.hashes, hashes, autojunk=False).get_matching_blocks()
        numbers = {old + step: new + step for old, new, size in blocks for step in range(size)}

        def moved(indices: Iterable[int]) -> tuple[int, ...]:
            return tuple(numbers[index] for index in indices if index in numbers)

        return replace(
            self,
            best=moved(self.best),
            good=moved(self.good),
            dep=moved(self.dep),
            junk=moved(self.junk),
            roles={role: moved(indices) for role, indices in self.roles.items()},
            hashes=hashes,
        )


def sentence_hashes(sentences: Iterable[SourceSentence]) -> tuple[str, ...]:
    """Return a hash of the words of each sentence; case, spaces and punctuation do not count."""
    words = (" ".join(_WORD.findall(sentence.text.casefold())) for sentence in sentences)
    return tuple(hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS] for text in words)


def shown_indices(sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences that a sheet shows with numbers: of long documents beginning and end."""
    marked = [index for index, sentence in enumerate(sentences) if sentence.kind in MARKED_KINDS]
    return marked if len(marked) <= HEAD + TAIL else [*marked[:HEAD], *marked[-TAIL:]]


def sheet(document: Document, sentences: Sequence[SourceSentence], path: Path) -> str:
    """Return the sheet of a document: the fields to fill in, and its sentences with their numbers.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        path: Its file.
    """
    fields = (f"document: {path}", *(f"{name}:" for name in ("kind", "says", *CHOICES, *ROLES)))
    title = f"title: {document.title}\n\n" if document.title else ""
    return "\n".join([*fields, "", f"{title}{numbered_text(sentences)}"])


def marked_document(text: str) -> str:
    """Return the path of the document of a sheet; empty if it names none."""
    return _fields(text).get("document", "")


def is_filled(text: str) -> bool:
    """Return whether a reader has filled in a sheet."""
    return any(_fields(text).get(name) for name in CHOICES)


def numbered_text(sentences: Sequence[SourceSentence]) -> str:
    """Return the text of a document with a number before each sentence, and its headings without."""
    numbers = shown_indices(sentences)
    shown, last = set(numbers), numbers[-1] if numbers else -1
    lines: list[str] = []
    block, is_omitted = -1, False
    for index, sentence in enumerate(sentences[: last + 1]):
        if index not in shown:
            if sentence.kind in MARKED_KINDS:
                lines += [] if is_omitted else ["", "[...]"]
                is_omitted = True
                continue
            if sentence.kind != "heading" or is_omitted:
                continue
        is_omitted = False
        lines += [""] if sentence.block != block and (sentence.kind != "list_item" or not lines) else []
        block = sentence.block
        words = sentence.text.split()
        text = " ".join(words[:_SHOWN_WORDS]) + (" ..." if len(words) > _SHOWN_WORDS else "")
        mark = {"heading": "## ", "list_item": "- ", "caption": "(caption) ", "notice": "(notice) "}
        number = "" if sentence.kind == "heading" else f"{index}: "
        lines.append(f"{number}{mark.get(sentence.kind, '')}{text}")
    return "\n".join(lines).strip("\n") + "\n"


def parse_sheet(text: str, sentences: Sequence[SourceSentence]) -> Marks:
    """Return the marks in the fields of a sheet that was filled in.

    Args:
        text: The sheet, or its fields alone: lines like `best: 4 17` or `junk: 1-3 40`; further lines after an empty
            one are not read.
        sentences: Sentences of its document.

    Raises:
        ValueError: If a field is unknown, has something else than numbers, or no sentence is `best`.
    """
    fields = _fields(text)
    unknown = fields.keys() - {"document", "kind", "says", *CHOICES, *ROLES}
    if unknown:
        raise ValueError(f"must have fields such as `best: 4 17`, got {min(unknown)[:60]!r}")
    shown = frozenset(shown_indices(sentences))
    numbers = {name: _numbers(name, fields.get(name, ""), len(sentences), shown) for name in (*CHOICES, *ROLES)}
    best, good, dep, junk = (numbers[name] for name in CHOICES)
    roles = {role: numbers[role] for role in ROLES if numbers[role]}
    if not best:
        raise ValueError("must name at least one sentence after best:, got none")
    return Marks(
        best,
        good,
        dep,
        junk,
        roles,
        kind=fields.get("kind", ""),
        says=fields.get("says", ""),
        hashes=sentence_hashes(sentences),
    )


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a sheet, which are the lines before the first empty one."""
    lines = text.strip("\n").partition("\n\n")[0].splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _numbers(name: str, value: str, sentences: int, shown: frozenset[int]) -> tuple[int, ...]:
    """Return the numbers of a field; those of sentences that have none in the sheet, such as headings, are dropped."""
    found: dict[int, None] = {}
    for word in value.replace(",", " ").split():
        start, dash, end = word.partition("-")
        end = end if dash else start
        is_range = start.isdecimal() and end.isdecimal() and len(word) <= _RANGE_CHARACTERS
        first, last = (int(start), int(end)) if is_range else (0, -1)
        if not first <= last < sentences:
            rule = f"numbers of sentences, at most {sentences - 1}, such as 4 or 10-12"
            raise ValueError(f"{name}: must be {rule}, got {word[:40]!r}")
        found |= dict.fromkeys(index for index in range(first, last + 1) if index in shown)
    return tuple(found)
