"""Genres of documents that are summarised in their own ways: licences, changelogs and lists of questions.

Of a changelog, its releases: where the latest ends, its name, and changes without labels and numbers of issues.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from sumpool.documents.document import Document, opening_heading
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.questions import asked, is_faq
from sumpool.text.notices import notice_kind

if TYPE_CHECKING:
    from sumpool.ranking.candidates import CandidateSentence

Genre = Literal["licence", "changelog", "questions", ""]

_LICENCE_NAME = re.compile(
    r"\b(?:licen[sc]es?|licen[sc]ing|copying|lizenz|terms (?:and|of)|agreement|legal code|лицензия)\b", re.I
)
_CHANGELOG_NAME = re.compile(r"\b(?:change ?log|changes|release notes|news|what'?s new)$", re.I)
_MIN_LICENCE_SHARE, _MANY_NOTICES, _MOST_NOTICES = 0.04, 0.3, 0.5
"""Words of licence notices per word of a document whose title or whose beginning names a licence, and of others."""
_GENERIC_NAME = re.compile(r"readme|news|changes|changelog|license|licence|copying|install|faq|index", re.I)
_RELEASE = re.compile(
    r"\bv?\d+(?:\.\d+)+|^\W*(?:19|20)\d{6}\b|\b(?:19|20)\d\d-\d\d-\d\d\b|\bunreleased\b", re.IGNORECASE
)
_VERSION_ITEM = re.compile(r"\W*(?:version |release )?v?\d+(?:\.\d+)+\W*(?:(?:19|20)\d\d-\d\d-\d\d\W*)?", re.IGNORECASE)
"""List item that is a version alone, whose changes are the items below it."""
_MAX_RELEASE_WORDS = 15
_MIN_CHANGES = 3
"""List items of the latest release below which those of the release before count too."""
_NUMBER = re.compile(r"v?(?=\d+\.\d)")
_MARKS = re.compile(r"[\[\]*=#`]+|\(https?:[^)]*\)")
_COMPONENT = re.compile(
    r"^(?:(?:NEW|CHANGED?|FIX(?:ED)?|ADDED|REMOVED)\b:? )?(?:#\d+:? )?"
    r"(?:[\w./+-]{1,20}(?:, ?[\w./+-]{1,20})?: (?=[A-Z]))?"
)
_MAX_HEADING_WORDS = 4
_MENDED_HEADING = re.compile(
    r"(?!.*\b(?:changes|changed|enhancements|features|improvements|new)\b)"
    r".*\b(?:bug ?fix(?:es)?|bugs? fixed|fixed|fixes)\b",
    re.IGNORECASE,
)
"""Heading of faults that were mended, and of nothing else."""
_REMOVED_HEADING = re.compile(r"removed|deprecated", re.IGNORECASE)
_MENDED = re.compile(r"FIX(?:ED)?\b")
_SAYS_SO = {
    "Fixed": re.compile(
        r"(?:fix|correct|repair|resolve|prevent|avoid|handle|ensure|make|add|allow|remove|do(?:n't| not)|no longer)",
        re.IGNORECASE,
    ),
    "Removed": re.compile(r"(?:remov|drop|delet|no longer)", re.IGNORECASE),
    "Deprecated": re.compile(r".*(?:deprecat|instead)", re.IGNORECASE),
}
"""Changes that say what their group does."""
_ISSUES = re.compile(r"\s*(?:\bBug )?#\d+$|\s*[(\[](?=[^)\]]*\d)[\w#.,/ +-]{2,60}[)\]](?=\.?$)")


def document_title(document: Document) -> str:
    """Return the title of a document: as stated, or its first heading; empty if it has neither."""
    return document.title or opening_heading(document.blocks)


def document_genre(document: Document) -> Genre:
    """Return the genre of a document by its title, its file name, its questions and its share of licence notices."""
    title = f"{document_title(document)} {file_stem(document)}".replace("_", " ").replace("-", " ")
    if _CHANGELOG_NAME.search(title):
        return "changelog"
    if is_faq(document, title):
        return "questions"
    if _LICENCE_NAME.search(title):
        return "licence" if not document.blocks or _licence_share(document) >= _MIN_LICENCE_SHARE else ""
    if re.search("readme", title, re.IGNORECASE):
        return ""
    if _LICENCE_NAME.search(document.text[:200]) and _licence_share(document) >= _MANY_NOTICES:
        return "licence"
    begins = any(notice_kind(block.text) == "licence" for block in document.blocks[:1])
    return "licence" if begins and _licence_share(document) >= _MOST_NOTICES else ""


def _licence_share(document: Document) -> float:
    """Return the share of the words of a document that are in notices of licences."""
    words = [len(block.text.split()) for block in document.blocks]
    notices = (size for size, block in zip(words, document.blocks, strict=True) if notice_kind(block.text) == "licence")
    return sum(notices) / max(sum(words), 1)


def file_stem(document: Document) -> str:
    """Return the name of a document's file without suffixes, and its folder's where it is called README or the like."""
    path = PurePath(document.id)
    stem = path.name.split(".")[0] if document.id != "-" else ""
    return f"{path.parent.name} {stem}" if _GENERIC_NAME.fullmatch(stem) else stem


def latest_end(sentences: Sequence[SourceSentence]) -> int:
    """Return the index of the first sentence after the latest release; the latest releases are listed first.

    A release begins with a heading or a short paragraph that has a version or a date. Releases of fewer than three
    changes are passed over together with the next.
    """
    changes: set[int] = set()
    for index, sentence in enumerate(sentences):
        if is_release(sentence):
            if len(changes) >= _MIN_CHANGES:
                return index
        elif sentence.kind == "list_item" or (
            sentence.kind == "paragraph" and len(sentence.text.split()) > _MAX_RELEASE_WORDS
        ):
            changes.add(sentence.block)
    return len(sentences)


def is_release(sentence: SourceSentence) -> bool:
    """Return whether a sentence is the heading of a release."""
    is_short = len(sentence.text.split()) <= _MAX_RELEASE_WORDS
    if sentence.kind == "list_item":
        return bool(_VERSION_ITEM.fullmatch(sentence.text))
    if sentence.kind == "heading":
        return is_short and bool(_RELEASE.search(sentence.text))
    return (
        sentence.kind in ("paragraph", "code")
        and is_short
        and bool(_RELEASE.search(" ".join(sentence.text.split()[:3])))
    )


def is_above_list(sentences: Sequence[SourceSentence], place: int) -> bool:
    """Return whether a sentence is a line without a full stop above a list, which it is the heading of."""
    kinds = [sentence.kind for sentence in sentences[place : place + 2]]
    return kinds == ["paragraph", "list_item"] and sentences[place].text[-1:].isalnum()


def without_repeated(candidates: "Sequence[CandidateSentence]") -> "list[CandidateSentence]":
    """Return candidates that are neither the beginning of another one nor equal to an earlier one."""
    first = {item.text: item for item in reversed(candidates)}
    texts = sorted(first)

    def begins_another(text: str) -> bool:
        beginning = f"{text[:-1]} "
        place = bisect_left(texts, beginning)  # of the first text with this beginning, if there is one
        return place < len(texts) and texts[place].startswith(beginning)

    return [item for item in candidates if item is first[item.text] and not begins_another(item.text)]


def with_releases(
    candidates: "Sequence[CandidateSentence]", sentences: Sequence[SourceSentence]
) -> "list[CandidateSentence]":
    """Return changes with the name of their release as their section ("Version 2.1"); empty before the first.

    Faults that were mended and things that were removed say so, as their heading does not come with them.
    """
    names, is_named, groups = [""], False, [""]
    for sentence in sentences:
        is_date = is_named and sentence.kind == "paragraph"  # below the heading with the version
        is_new = is_release(sentence) and not is_date
        names.append(_release_name(sentence.text) if is_new else names[-1])
        is_named = is_new
        is_heading = sentence.kind in ("heading", "paragraph") and len(sentence.text.split()) <= _MAX_HEADING_WORDS
        groups.append(_group(sentence.text) if is_heading else groups[-1])
    changes = []
    for item in candidates:
        group = "Fixed" if _MENDED.match(sentences[item.index].text) else groups[item.index]
        says_so = not group or _SAYS_SO[group].match(item.text)
        changes.append(replace(item, text=item.text if says_so else f"{group}: {item.text}", section=names[item.index]))
    return changes


def sentence_texts(candidates: "Sequence[CandidateSentence]", genre: Genre) -> list[tuple[int, str]]:
    """Return index and text of selected sentences.

    Of a changelog, the first change of a release names it; in a list of questions, a question is asked once.
    A sentence with its subject before it ("numpy: A library for arrays.") is the first, wherever it stands.
    """
    texts, release = [], ""
    for item in sorted(candidates, key=lambda item: not (item.section and item.text.startswith(f"{item.section}: "))):
        is_new = genre == "changelog" and item.section not in ("", release)
        text = f"{item.section}: {item.text}" if is_new else item.text
        is_asked = genre == "questions" and item.section == release
        texts.append((item.index, text.removeprefix(f"{asked(item)} ") if is_asked else text))
        release = item.section
    return texts


def _group(heading: str) -> str:
    """Return the group of changes that a heading opens, if its changes may not say so themselves."""
    removed = _REMOVED_HEADING.match(heading)
    return removed[0].capitalize() if removed else "Fixed" if _MENDED_HEADING.match(heading) else ""


def _release_name(text: str) -> str:
    name = " ".join(_MARKS.sub("", text).split()).rstrip(" .:")
    return f"Version {_NUMBER.sub('', name, count=1)}" if _NUMBER.match(name) else name


def change_text(text: str) -> str:
    """Return the text of a change without the name of a component before it and the issues behind it."""
    return _ISSUES.sub("", _COMPONENT.sub("", text))
