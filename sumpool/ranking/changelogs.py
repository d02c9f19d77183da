"""Releases of a changelog: where the latest ends, and the text of a change without labels and numbers of issues."""

import re
from collections.abc import Sequence

from sumpool.documents.source_sentences import SourceSentence

_RELEASE = re.compile(r"\bv?\d+(?:\.\d+)+|\b(?:19|20)\d\d-\d\d-\d\d\b|\bunreleased\b", re.IGNORECASE)
_MAX_RELEASE_WORDS = 15
_MIN_CHANGES = 3
"""List items of the latest release below which those of the release before count too."""
_COMPONENT = re.compile(r"^[\w./+-]{1,20}(?:, ?[\w./+-]{1,20})?: (?=[A-Z])")
_ISSUES = re.compile(r"\s*[(\[](?=[^)\]]*\d)[\w#.,/ +-]{2,60}[)\]](?=\.?$)")


def latest_end(sentences: Sequence[SourceSentence]) -> int:
    """Return the index of the first sentence after the latest release; the latest releases are listed first.

    A release begins with a heading or a short paragraph that has a version or a date. Releases of fewer than three
    changes are passed over together with the next.
    """
    changes = 0
    for index, sentence in enumerate(sentences):
        if is_release(sentence):
            if changes >= _MIN_CHANGES:
                return index
        elif sentence.kind in ("paragraph", "list_item"):
            changes += sentence.kind == "list_item" or len(sentence.text.split()) > _MAX_RELEASE_WORDS
    return len(sentences)


def is_release(sentence: SourceSentence) -> bool:
    """Return whether a sentence is the heading of a release."""
    is_short = len(sentence.text.split()) <= _MAX_RELEASE_WORDS
    if sentence.kind == "heading":
        return is_short and bool(_RELEASE.search(sentence.text))
    return sentence.kind == "paragraph" and is_short and bool(_RELEASE.search(" ".join(sentence.text.split()[:3])))


def change_text(text: str) -> str:
    """Return the text of a change without the name of a component before it and the issues behind it."""
    return _ISSUES.sub("", _COMPONENT.sub("", text))
