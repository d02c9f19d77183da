"""Candidates of extraction: the sentences of a document with blocks that a summary may consist of.

A candidate is a whole sentence of prose, and knows its section, so that licences, references and lists of authors are
left out. Documents without such sentences, such as lists of changes, offer their list items instead.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.candidate_form import is_part, licence_term, with_subject, without_label
from sumpool.ranking.genres import (
    Genre,
    change_text,
    document_title,
    file_stem,
    is_above_list,
    latest_end,
    with_releases,
    without_repeated,
)
from sumpool.ranking.openings import SENTENCE_ENDS, describes_term, full_stop, introduces, is_about_part, name_line
from sumpool.ranking.outline import heading_is
from sumpool.ranking.questions import answers, with_questions
from sumpool.text.language import ENGLISH, languages, word_count
from sumpool.text.prose import MIN_WORDS, PROSE_KINDS, depends_on_predecessor, is_prose_sentence, tidy_sentence
from sumpool.text.references import goes_on, refers_to_omitted

_ADDENDUM = re.compile(r"addendum|appendix|future|how to|end of", re.I)
"""Headings of what follows the terms of a licence."""
_IDENTIFIER = re.compile(r"[a-z]+[_.\d(:/]\S|[a-z]+[A-Z]")
"""Name in a programming language at the beginning of a sentence."""
_PRONOUNS = frozenset(
    ("it", "they", "he", "she", "its", "their", "er", "sie", "es", "il", "elle", "ils", "elles", "он", "они")
)
_NAME_SECTIONS = 2
"""Headings at most before the line that names a manual page: the title and "NAME"."""
_LATEST_CHANGES = 25
"""Changes that a summary of a changelog may consist of; the latest are listed first."""
_MIN_CHANGE_WORDS = 3

_HEADING_NUMBER = re.compile(r"^(?:[\d.]+:?|[A-Z]\.|§+ ?\d+|chapter \d+[.:]?|kapitel \d+[.:]?|第.{1,3}[章节])\s*", re.I)
MIN_CANDIDATE_WORDS: Final = 40
"""Words of strict candidates below which sentences without terminal punctuation are candidates too."""


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """A sentence that may be selected.

    Attributes:
        text: The sentence without list marks and markup, and with a full stop if it had no terminal punctuation.
        index: Index of the sentence of the document.
        place: Index among the sentences of prose.
        section: Heading of its section; empty before the first heading.
        section_index: Index of the section, from 0.
        is_first: Whether the sentence begins its block.
        is_item: Whether its block is a list item.
        predecessor: Index of the candidate before it that it refers to; None if it stands alone.
        is_name_line: Whether it is the line of a manual page that names and describes its subject.
        is_description: Whether its block describes the term of the line before it, such as an option.
    """

    text: str
    index: int
    place: int
    section: str = ""
    section_index: int = 0
    is_first: bool = False
    is_item: bool = False
    predecessor: int | None = None
    is_name_line: bool = False
    is_description: bool = False


@dataclass
class _Section:
    """Section that a sentence is in."""

    heading: str = ""
    index: int = 0
    is_back_matter: bool = False


def find_candidates(
    document: Document, sentences: Sequence[SourceSentence], language: str, genre: Genre = ""
) -> list[CandidateSentence]:
    """Return the candidates of a document, in order.

    Args:
        document: The document, with blocks.
        sentences: Its sentences, see `source_sentences`.
        language: Code of its language.
        genre: Genre of the document, see `document_genre`; of a changelog only the latest changes are candidates.
    """
    title = f"{document_title(document)} {file_stem(document)}"
    names = frozenset((*re.findall(r"[\w.+-]+", title.lower()), *re.findall(r"\w+", title.lower())))
    if genre == "changelog":
        latest = _find_changes(sentences[: latest_end(sentences)], language, names)
        return latest or _find_changes(sentences, language, names)
    if genre == "questions":
        return answers(_find(with_questions(document, sentences), language, names, is_licence=False), title)
    if not genre:
        sentences = _with_back_matter(document, sentences, language)
    candidates = _find(sentences, language, names, genre == "licence")
    if sum(word_count(candidate.text) for candidate in candidates) >= MIN_CANDIDATE_WORDS:
        return candidates
    strict = {candidate.index for candidate in candidates}
    loose = _find_loose(sentences, strict, language, language if document.blocks else "", is_changelog=False)
    candidates = sorted([*candidates, *loose], key=lambda candidate: candidate.index)
    return [replace(candidate, predecessor=None) for candidate in candidates]


def _find_changes(sentences: Sequence[SourceSentence], language: str, names: frozenset[str]) -> list[CandidateSentence]:
    """Return the changes of releases; one stands in a list of its own, whatever the sentences before it say."""
    strict = _find(sentences, language, names, is_licence=False)
    alone = [item for item in strict if item.predecessor is None]
    loose = _find_loose(sentences, {item.index for item in strict}, language, "", is_changelog=True)
    candidates = without_repeated(sorted([*alone, *loose], key=lambda candidate: candidate.index))
    return with_releases([replace(item, predecessor=None) for item in candidates[:_LATEST_CHANGES]], sentences)


def _with_back_matter(
    document: Document, sentences: Sequence[SourceSentence], language: str
) -> Sequence[SourceSentence]:
    """Return sentences with the headings below one of the back matter, such as "Sponsors", replaced by it."""
    headings: list[SourceSentence] = []
    above: tuple[int, str] | None = None
    for item in sentences:
        if item.kind != "heading" or not document.blocks:
            headings.append(item)
            continue
        level = document.blocks[item.block].level
        if above is None or level <= above[0]:
            is_back_matter = heading_is(_HEADING_NUMBER.sub("", item.text), language, "back_matter")
            above = (level, item.text) if is_back_matter else None
        headings.append(replace(item, text=above[1]) if above else item)
    return headings


def _find(
    sentences: Sequence[SourceSentence], language: str, names: frozenset[str], is_licence: bool
) -> list[CandidateSentence]:
    candidates: list[CandidateSentence] = []
    section, place, block = _Section(), 0, -1
    skip_block = False
    for index, sentence in enumerate(sentences):
        is_first, block = sentence.block != block, sentence.block
        if sentence.kind == "heading":
            heading = sentence.text.lstrip("# ")  # Markdown that is read as plain text keeps its marks
            section = _next_section(section, heading, language, is_licence)
            continue
        if is_first:
            skip_block = sentence.kind == "notice" and not is_licence
        if (sentence.kind not in PROSE_KINDS and not (is_licence and sentence.kind == "notice")) or skip_block:
            continue
        place += 1
        text = without_label(tidy_sentence(sentence.text), place)
        text = licence_term(text) if is_licence else text
        if place == 1 and section.index <= _NAME_SECTIONS and (line := name_line(text, language)):
            candidates.append(CandidateSentence(line, index, place, "", section.index, is_first, is_name_line=True))
            continue
        following = sentences[index + 1] if index + 1 < len(sentences) else None
        is_torn = following is not None and following.block == block and is_part(sentence, following, is_first)
        if candidates and candidates[0].is_name_line and text.rstrip(SENTENCE_ENDS) in candidates[0].text:
            continue
        if section.is_back_matter or is_torn or not _stands(text, language, names, is_licence):
            continue
        predecessor = None
        if _depends(text, place, language, is_licence):
            previous = candidates[-1] if candidates else None
            if is_first or previous is None or previous.index != index - 1:
                continue
            predecessor = len(candidates) - 1
        is_opening = sentences[index - 1].kind == "heading" and language == ENGLISH and index > 0
        is_opening = is_opening and not heading_is(section.heading, language, "introductions")
        candidates.append(
            CandidateSentence(
                with_subject(text, section.heading, names, place) if is_opening else text,
                index,
                place,
                section.heading,
                section.index,
                is_first,
                sentence.kind == "list_item",
                predecessor,
                is_description=place > 1 and describes_term(sentences, index),
            )
        )
    return candidates


def _stands(text: str, language: str, names: frozenset[str], is_licence: bool) -> bool:
    """Return whether a sentence is prose that refers to no list, figure or edition; licences refer to theirs."""
    is_prose = is_prose_sentence(text, language, names, is_licence=is_licence)
    return is_prose and (is_licence or not refers_to_omitted(text, language))


def _depends(text: str, place: int, language: str, is_licence: bool) -> bool:
    """Return whether a sentence cannot stand without the one before it."""
    if introduces(text, place):
        return False
    if is_about_part(text, place) or (not is_licence and goes_on(text, language)):
        return True
    return not _names_the_subject(text, place, language) and depends_on_predecessor(text, language)


def _names_the_subject(text: str, place: int, language: str) -> bool:
    """Return whether a sentence is the first of a document and begins with a determiner and a noun ("this filter")."""
    words = languages()[language].function_words if language in languages() else frozenset[str]()
    first, *others = text.lower().split()[:2]
    return place == 1 and first not in _PRONOUNS and not any(word in words for word in others)


def _next_section(section: _Section, heading: str, language: str, is_licence: bool) -> _Section:
    text = _HEADING_NUMBER.sub("", heading)
    is_back_matter = bool(_ADDENDUM.match(text)) if is_licence else heading_is(text, language, "back_matter")
    return _Section(text, section.index + 1, is_back_matter)


def _find_loose(
    sentences: Sequence[SourceSentence], strict: set[int], language: str, profile: str, *, is_changelog: bool
) -> list[CandidateSentence]:
    """Return sentences without terminal punctuation that are no notices, code or fields, each with a full stop.

    `profile` is the language whose function words they must have; any words do if it is empty.
    """
    loose: list[CandidateSentence] = []
    min_words = _MIN_CHANGE_WORDS if is_changelog else MIN_WORDS
    for place, sentence in enumerate(sentences):
        text = tidy_sentence(sentence.text).rstrip(" .;,\u3002\uff1b\uff0c")
        text = change_text(text) if is_changelog else text
        is_text = sentence.kind in PROSE_KINDS and len(text.split()) >= _MIN_CHANGE_WORDS and text[-1:] != ":"
        is_no_change = is_changelog and (text[-1:] == "?" or is_above_list(sentences, place))
        if place in strict or is_no_change or not is_text:
            continue
        start = text[:1] if _IDENTIFIER.match(text) else text[:1].upper()
        end = "" if text[-1:] in "?\uff1f" else full_stop(language)
        capital = f"{start}{text[1:]}{end}"
        depends = refers_to_omitted(capital, language) or goes_on(capital, language) or depends_on_predecessor(capital)
        statement = f"{capital[:-1]}{full_stop(language)}"
        if not depends and is_prose_sentence(statement, profile, frozenset(text.split()[:1]), min_words=min_words):
            loose.append(CandidateSentence(capital, place, place, is_item=sentence.kind == "list_item"))
    return loose
