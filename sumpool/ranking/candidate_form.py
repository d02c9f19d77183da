"""Form of the candidates of extraction: whole sentences without labels and references in brackets.

In texts without structure, sentences come with those that they refer to.
"""

import re
from collections.abc import Iterable, Sequence, Set
from typing import Final

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.citations import is_bibliography_entry, without_citations
from sumpool.text.form import sentence_faults
from sumpool.text.language import ENGLISH, UNSPACED, word_count
from sumpool.text.prose import depends_on_predecessor, tidy_sentence

MIN_WORDS: Final = 120
"""Words of whole sentences below which others are candidates too."""
_TARGETS = 3
"""Words of candidates that stand alone, relative to a target length, below which others are candidates too."""

_MAX_RUN_IN_WORDS = 6
"""Words of a heading at the beginning of a paragraph at most."""
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|can|may|must|will|ist|sind|est|sont|es|son)\b")
"""Verbs that tell a short sentence from a heading."""
_GRANT_WITH_CONDITIONS = re.compile(r"\b(?:granted|permitted)\b.*:$")
"""Sentence of a licence that is whole without the list that follows it."""
_SENTENCE_STARTS = "\"'([\u201c\u2018\u00ab\u201e\uff08\u300c"
"""Punctuation that a sentence begins with."""
_LABEL = re.compile(r"(?:abstract|summary)(?:\s*[:.\u2013\u2014-])?\s+(?=(?-i:[A-Z]\w* [a-z]))", re.IGNORECASE)
"""Heading at the beginning of the first paragraph."""
_DESCRIPTION = re.compile(
    r"(?!This |These |We |In )(?:An? |The )?(?:[\w-]+,? ){1,6}"
    r"(?:librar(?:y|ies)|utilit(?:y|ies)|packages?|tools?|programs?|modules?|framework"
    r"|script|plugin|extension|collection|wrapper|parser|toolkit|implementation|client|interface)(?: and \w+)? "
    r"(?:for|to|that|which|with|of)\b"
    r"|(?:Build|Compute|Convert|Create|Extract|Find|Generate|Manage|Parse|Process|Read|Render|Write)s? "
)
"""Description of a program without its name, by a noun or a verb."""
_CALLOUT = re.compile(r"\[!\w+\] ")
"""Label of a remark in the Markdown of GitHub."""
_REPEATED = re.compile(r"([A-Z]\w{3,}) (?=\1 )")
"""Heading at the beginning of a sentence that begins with the same word."""
_REMARK = re.compile(
    r"[;:,] (?:please )?see [^.;]*(?=\.$)|\s*\((?:see|cf\.?|siehe|vgl\.?|laut|voir|v\u00e9ase|\u0441\u043c\.)\s[^()]*\)"
)
"""Reference in brackets or at the end of a sentence."""
_ADDRESS = re.compile(
    r"\s*[(\[<](?:https?:|www\.)[^)\]>\s]*[)\]>]|,(?: at| see)? (?:https?://|www\.)\S*[\w/],"
    r"|(?:,? (?:which|that) (?:is|are|can be|may be) (?:available|described|documented|downloaded|found|obtained))?"
    r"\s(?:at|from|on|under|see) (?:https?://|www\.)\S*[\w/]"
)
"""Address of a page, in brackets or at the end of a clause."""
_LICENSED = re.compile(
    r"(This is .{8,}?|\S+ is an? .{8,}?),? (?:(?:that|which) is )?(?:distributed|released|licensed) under [^.]*\.$"
    r"|((?:\S+ ){6,}?\S+?),? and is (?:\w+ly )?(?:available|distributed|released|licensed) [^.]*\.$"
)
"""Definition whose last clause names the licence or where to get the program."""
_MAX_LABELLED = 5
"""Sentences of a document in which its abstract begins."""
_LICENCE_CONNECTIVE = re.compile(r"(?:by contrast|specifically|in addition|however|moreover|therefore|finally), ", re.I)
_ITEM_END = re.compile(r"(?:;|,)(?: and| or)?$")
"""End of an item of a list of conditions."""


def whole_sentences(
    candidates: Sequence[tuple[int, str]], target: LengthTarget | None = None, language: str = ENGLISH
) -> list[tuple[int, str]]:
    """Return the candidates that are whole sentences, without list marks.

    Args:
        candidates: Index and text of each.
        target: Length of the summary, for which a sentence cannot bring the one that it refers to; candidates then
            stand alone.
        language: Code of their language.

    Returns:
        All candidates if there are too few others, or not more words than the target asks for.
    """
    is_short = target is not None and not target.in_sentences and _words(candidates) <= target.maximum
    if language in UNSPACED or is_short:
        return list(candidates)
    whole = [(index, text) for index, text in _tidy(candidates) if not sentence_faults(text, language)]
    if _words(whole) < MIN_WORDS:
        return list(candidates)
    if target is None:
        return whole
    alone = [(index, text) for index, text in whole if index == 0 or not depends_on_predecessor(text, language)]
    return alone if _words(alone) >= _TARGETS * target.words else whole


def resolve(places: Sequence[int], candidates: Sequence[tuple[int, str]], language: str = ENGLISH) -> list[int]:
    """Remove selected sentences that refer to one that is not selected.

    Where more than half of the words would be removed, the sentences that they refer to are added instead, if these are
    candidates.

    Args:
        places: Places of the selected sentences among the candidates.
        candidates: Index and text of each.
        language: Code of their language.

    Returns:
        Places in order; those that were given if none would remain.
    """
    units = {place: _unit(place, candidates, language) for place in places}
    kept = [place for place in places if units[place] and set(units[place]) <= units.keys()]
    if 2 * _words(candidates[place] for place in kept) < _words(candidates[place] for place in places):
        kept = sorted({member for unit in units.values() for member in unit})
    return sorted(kept or places)


def _unit(place: int, candidates: Sequence[tuple[int, str]], language: str) -> list[int]:
    """Return a sentence with all that it refers to; nothing if one of them is no candidate."""
    unit = [place]
    while candidates[unit[-1]][0] and depends_on_predecessor(candidates[unit[-1]][1], language):
        before = unit[-1] - 1
        if before < 0 or candidates[before][0] != candidates[unit[-1]][0] - 1:
            return []
        unit.append(before)
    return unit


def _tidy(candidates: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    tidy = ((index, tidy_sentence(text)) for index, text in candidates)
    return ((index, without_citations(text)) for index, text in tidy if not is_bibliography_entry(text))


def _words(candidates: Iterable[tuple[int, str]]) -> int:
    return sum(word_count(text) for _, text in candidates)


def licence_term(text: str) -> str:
    """Return a sentence of a licence without the connective before it and the list or the item after it."""
    if connective := _LICENCE_CONNECTIVE.match(text):
        text = f"{text[connective.end()].upper()}{text[connective.end() + 1 :]}"
    text = _ITEM_END.sub(".", text)
    return f"{text[:-1]}." if _GRANT_WITH_CONDITIONS.search(text) else text


def without_label(text: str, place: int) -> str:
    """Return a sentence without addresses, citations and remarks in brackets, and an abstract's without its label."""
    text = _ADDRESS.sub("", _REMARK.sub("", without_citations(text)))
    text = _REPEATED.sub("", _CALLOUT.sub("", text))
    if place <= _MAX_LABELLED and (opening := _LICENSED.match(text)):
        text = f"{opening[opening.lastindex or 0]}."
    return _LABEL.sub("", text, count=1) if place <= _MAX_LABELLED and _LABEL.match(text) else text


def with_subject(text: str, heading: str, names: Set[str], place: int) -> str:
    """Return the first sentence of a section with the heading before it if it does not name what it describes.

    Args:
        text: The sentence, in English.
        heading: Heading of its section.
        names: Lower-case words of the title and the file's name; a heading that is one of them is the subject.
        place: Index of the sentence among the sentences of prose, from 1.
    """
    description = _DESCRIPTION.match(text) if place == 1 or heading.lower() in names else None
    lacks_subject = description is not None and not _VERB.search(description[0])
    return f"{heading}: {text}" if lacks_subject and heading.lower() not in text.lower() else text


def is_part(sentence: SourceSentence, following: SourceSentence, is_first: bool) -> bool:
    """Return whether a sentence is none alone: the following one goes on, or it is a heading that begins a block."""
    is_heading = is_first and word_count(sentence.text) <= _MAX_RUN_IN_WORDS and not _VERB.search(sentence.text)
    start = following.text[:1]
    return start.islower() or not (start.isalnum() or start in _SENTENCE_STARTS) or is_heading
