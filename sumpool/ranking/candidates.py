"""Candidates of extraction: the sentences of a document with blocks that a summary may consist of.

A candidate is a whole sentence of prose, and knows its section, so that licences, references and lists of authors are
left out. Documents without such sentences, such as lists of changes, offer their list items instead.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.changelogs import change_text, latest_end
from sumpool.ranking.openings import full_stop, introduces, is_about_part, name_line
from sumpool.ranking.questions import answers, is_faq, with_questions
from sumpool.text.language import ENGLISH, languages, word_count
from sumpool.text.notices import notice_kind
from sumpool.text.prose import MIN_WORDS, PROSE_KINDS, depends_on_predecessor, is_prose_sentence, tidy_sentence
from sumpool.text.references import goes_on, refers_to_omitted

_LICENCE_NAME = re.compile(
    r"\b(?:licen[sc]es?|licen[sc]ing|copying|lizenz|terms (?:and|of)|agreement|лицензия)\b", re.I
)
_CHANGELOG_NAME = re.compile(r"\b(?:change ?log|changes|release notes|news|what'?s new)$", re.I)
_MAX_RUN_IN_WORDS = 6
"""Words of a heading at the beginning of a paragraph at most."""
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|can|may|must|will|ist|sind|est|sont|es|son)\b")
"""Verbs that tell a short sentence from a heading."""
_ADDENDUM = re.compile(r"addendum|appendix|future|how to|end of", re.I)
"""Headings of what follows the terms of a licence."""
_GRANT_WITH_CONDITIONS = re.compile(r"\b(?:granted|permitted)\b.*:$")
"""Sentence of a licence that is whole without the list that follows it."""
_PRONOUNS = frozenset(
    ("it", "they", "he", "she", "its", "their", "er", "sie", "es", "il", "elle", "ils", "elles", "он", "они")
)
_GENERIC_NAME = re.compile(r"readme|news|changes|changelog|license|licence|copying|install|faq|index", re.I)
_LATEST_CHANGES = 25
"""Changes that a summary of a changelog may consist of; the latest are listed first."""
_MIN_LICENCE_SHARE = 0.05
"""Words of licence notices per word of a document that its title names a licence."""
_MIN_CHANGE_WORDS = 4

Genre = Literal["licence", "changelog", ""]

_HEADING_NUMBER = re.compile(r"^(?:[\d.]+|[A-Z]\.|§+ ?\d+|chapter \d+[.:]?|kapitel \d+[.:]?|第.{1,3}[章节])\s*", re.I)
MIN_CANDIDATE_WORDS: Final = 40
"""Words of strict candidates below which sentences without terminal punctuation are candidates too."""


@dataclass(frozen=True)
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
    names = frozenset(re.findall(r"[\w.+-]+", title.lower()))
    if genre == "changelog":
        sentences = sentences[: latest_end(sentences)]
    elif not genre and is_faq(document, title):
        return answers(_find(with_questions(document, sentences), language, names, is_licence=False), title)
    candidates = _find(sentences, language, names, genre == "licence")
    if genre == "changelog" or sum(word_count(candidate.text) for candidate in candidates) < MIN_CANDIDATE_WORDS:
        strict = {candidate.index for candidate in candidates}
        loose = _find_loose(sentences, strict, language, is_changelog=genre == "changelog")
        candidates = sorted([*candidates, *loose], key=lambda candidate: candidate.index)
        candidates = [_without_predecessor(candidate) for candidate in candidates]
    return candidates[:_LATEST_CHANGES] if genre == "changelog" else candidates


def document_title(document: Document) -> str:
    """Return the title of a document: as stated, or its first heading; empty if it has neither."""
    return document.title or next((block.text for block in document.blocks if block.kind == "heading"), "")


def document_genre(document: Document) -> Genre:
    """Return the genre of a document by its title, its file name and the share of licence notices in it."""
    title = f"{document_title(document)} {file_stem(document)}".replace("_", " ").replace("-", " ")
    if _CHANGELOG_NAME.search(title):
        return "changelog"
    if not _LICENCE_NAME.search(f"{title} {document.text[:200]}"):
        return ""
    words = [len(block.text.split()) for block in document.blocks]
    notices = (size for size, block in zip(words, document.blocks, strict=True) if notice_kind(block.text) == "licence")
    return "licence" if sum(notices) >= _MIN_LICENCE_SHARE * sum(words) else ""


def file_stem(document: Document) -> str:
    """Return the name of a document's file without suffixes, and its folder's where it is called README or the like."""
    path = PurePath(document.id)
    stem = path.name.split(".")[0] if document.id != "-" else ""
    return f"{path.parent.name} {stem}" if _GENERIC_NAME.fullmatch(stem) else stem


def _find(
    sentences: Sequence[SourceSentence], language: str, names: frozenset[str], is_licence: bool
) -> list[CandidateSentence]:
    candidates: list[CandidateSentence] = []
    section, place, block = _Section(), 0, -1
    skip_block = False
    for index, sentence in enumerate(sentences):
        is_first, block = sentence.block != block, sentence.block
        if sentence.kind == "heading":
            section = _next_section(section, sentence.text, language, is_licence)
            continue
        if is_first:
            skip_block = sentence.kind == "notice" and not is_licence
        if (sentence.kind not in PROSE_KINDS and not (is_licence and sentence.kind == "notice")) or skip_block:
            continue
        place += 1
        text = tidy_sentence(sentence.text)
        if is_licence and _GRANT_WITH_CONDITIONS.search(text):
            text = f"{text[:-1]}."
        if place == 1 and section.index <= 1 and (line := name_line(text, language)):
            candidates.append(CandidateSentence(line, index, place, "", section.index, is_first, is_name_line=True))
            continue
        following = sentences[index + 1] if index + 1 < len(sentences) else None
        is_part = following is not None and following.block == block and _is_part(sentence, following, is_first)
        if section.is_back_matter or is_part or not _stands(text, language, names, is_licence):
            continue
        predecessor = None
        if _depends(text, place, language, is_licence):
            previous = candidates[-1] if candidates else None
            if is_first or previous is None or previous.index != index - 1:
                continue
            predecessor = len(candidates) - 1
        is_item = sentence.kind == "list_item"
        candidates.append(
            CandidateSentence(text, index, place, section.heading, section.index, is_first, is_item, predecessor)
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


def _is_part(sentence: SourceSentence, following: SourceSentence, is_first: bool) -> bool:
    """Return whether a sentence is none alone: the following one goes on, or it is a heading that begins a block."""
    is_heading = is_first and word_count(sentence.text) <= _MAX_RUN_IN_WORDS and not _VERB.search(sentence.text)
    return following.text[:1].islower() or is_heading


def _next_section(section: _Section, heading: str, language: str, is_licence: bool) -> _Section:
    text = _HEADING_NUMBER.sub("", heading)
    is_back_matter = bool(_ADDENDUM.match(text)) if is_licence else heading_is(text, language, "back_matter")
    return _Section(text, section.index + 1, is_back_matter)


def heading_is(heading: str, language: str, kind: str) -> bool:
    """Return whether a heading is of a kind, such as "back_matter", in English or another language."""
    known = languages()
    patterns = [known[code].patterns.get(kind) for code in dict.fromkeys((ENGLISH, language)) if code in known]
    return any(re.match(rf"(?:the )?(?:{pattern})", heading, re.IGNORECASE) for pattern in patterns if pattern)


def _find_loose(
    sentences: Sequence[SourceSentence], strict: set[int], language: str, *, is_changelog: bool
) -> list[CandidateSentence]:
    """Return sentences without terminal punctuation that are no notices, code or fields, each with a full stop."""
    loose: list[CandidateSentence] = []
    for place, sentence in enumerate(sentences):
        text = tidy_sentence(sentence.text).rstrip(" .;,\u3002\uff1b\uff0c")
        text = change_text(text) if is_changelog else text
        is_text = sentence.kind in PROSE_KINDS and len(text.split()) >= _MIN_CHANGE_WORDS and text[-1:] not in ":?"
        if place in strict or not is_text:
            continue
        capital = f"{text[:1].upper()}{text[1:]}{full_stop(language)}"
        is_alone = not refers_to_omitted(capital, language) and not depends_on_predecessor(capital)
        min_words = _MIN_CHANGE_WORDS if is_changelog else MIN_WORDS
        if is_alone and is_prose_sentence(capital, "", min_words=min_words):
            loose.append(CandidateSentence(capital, place, place, is_item=sentence.kind == "list_item"))
    return loose


def _without_predecessor(candidate: CandidateSentence) -> CandidateSentence:
    return CandidateSentence(
        candidate.text, candidate.index, candidate.place, candidate.section, candidate.section_index, candidate.is_first
    )
