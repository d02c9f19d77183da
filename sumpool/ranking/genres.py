"""Genres of documents that are summarised in their own ways: licences, changelogs and lists of questions.

Of a changelog, its releases: where the latest ends, its name, and changes without labels and numbers of issues.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from sumpool.documents.document import Document, opening_heading
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.questions import is_faq
from sumpool.text.notices import notice_kind

if TYPE_CHECKING:
    from sumpool.ranking.candidates import CandidateSentence

Genre = Literal["licence", "changelog", "questions", ""]

_LICENCE_NAME = re.compile(
    r"\b(?:licen[sc]es?|licen[sc]ing|copying|lizenz|terms (?:and|of)|agreement|лицензия)\b", re.I
)
_CHANGELOG_NAME = re.compile(r"\b(?:change ?log|changes|release notes|news|what'?s new)$", re.I)
_MIN_LICENCE_SHARE, _MOST_NOTICES = 0.05, 0.5
"""Words of licence notices per word of a document that its title names a licence, and of one that it does not."""
_GENERIC_NAME = re.compile(r"readme|news|changes|changelog|license|licence|copying|install|faq|index", re.I)
_RELEASE = re.compile(r"\bv?\d+(?:\.\d+)+|\b(?:19|20)\d\d-\d\d-\d\d\b|\bunreleased\b", re.IGNORECASE)
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
_MENDED_HEADING = re.compile(r"\b(?:bug ?fix(?:es)?|bugs? fixed|fixed|fixes)\b", re.IGNORECASE)
"""Heading of faults that were mended."""
_MENDED = re.compile(r"FIX(?:ED)?\b")
_MENDS = re.compile(
    r"(?:fix|correct|repair|resolve|prevent|avoid|handle|ensure|make|add|allow|remove|update|do(?:n't| not)|no longer)",
    re.IGNORECASE,
)
"""Start of a change that says that something was mended."""
_ISSUES = re.compile(r"\s*(?:\bBug )?#\d+$|\s*[(\[](?=[^)\]]*\d)[\w#.,/ +-]{2,60}[)\]](?=\.?$)")


def document_title(document: Document) -> str:
    """Return the title of a document: as stated, or its first heading; empty if it has neither."""
    return document.title or opening_heading(document.blocks)


def document_genre(document: Document) -> Genre:
    """Return the genre of a document by its title, its file name, its questions and its share of licence notices."""
    title = f"{document_title(document)} {file_stem(document)}"
    if is_faq(document, title):
        return "questions"
    title = title.replace("_", " ").replace("-", " ")
    if _CHANGELOG_NAME.search(title):
        return "changelog"
    words = [len(block.text.split()) for block in document.blocks]
    notices = (size for size, block in zip(words, document.blocks, strict=True) if notice_kind(block.text) == "licence")
    if _LICENCE_NAME.search(f"{title} {document.text[:200]}"):
        return "licence" if sum(notices) >= _MIN_LICENCE_SHARE * sum(words) else ""
    begins = any(notice_kind(block.text) == "licence" for block in document.blocks[:1])
    return "licence" if begins and sum(notices) >= _MOST_NOTICES * sum(words) else ""


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
    if sentence.kind == "heading":
        return is_short and bool(_RELEASE.search(sentence.text))
    return (
        sentence.kind in ("paragraph", "code")
        and is_short
        and bool(_RELEASE.search(" ".join(sentence.text.split()[:3])))
    )


def with_releases(
    candidates: "Sequence[CandidateSentence]", sentences: Sequence[SourceSentence]
) -> "list[CandidateSentence]":
    """Return changes with the name of their release as their section ("Version 2.1"); empty before the first.

    Faults that were mended say so, as their heading does not come with them.
    """
    names, is_named, is_mended = [""], False, [False]
    for sentence in sentences:
        is_date = is_named and sentence.kind == "paragraph"  # below the heading with the version
        is_new = is_release(sentence) and not is_date
        names.append(_release_name(sentence.text) if is_new else names[-1])
        is_named = is_new
        is_heading = sentence.kind in ("heading", "paragraph") and len(sentence.text.split()) <= _MAX_HEADING_WORDS
        is_mended.append(bool(_MENDED_HEADING.search(sentence.text)) if is_heading else is_mended[-1])
    changes = []
    for item in candidates:
        is_fault = is_mended[item.index] or _MENDED.match(sentences[item.index].text)
        text = f"Fixed: {item.text}" if is_fault and not _MENDS.match(item.text) else item.text
        changes.append(replace(item, text=text, section=names[item.index]))
    return changes


def _release_name(text: str) -> str:
    name = " ".join(_MARKS.sub("", text).split()).rstrip(" .:")
    return f"Version {_NUMBER.sub('', name, count=1)}" if _NUMBER.match(name) else name


def change_text(text: str) -> str:
    """Return the text of a change without the name of a component before it and the issues behind it."""
    return _ISSUES.sub("", _COMPONENT.sub("", text))
