"""Notices: paragraphs about a document rather than its subject, such as licences, imprints and tables of contents."""

import re
from functools import lru_cache
from typing import Literal

from sumpool.text.language import languages
from sumpool.text.patterns import any_of

_MAX_IMPRINT_WORDS = 25
"""Words of a paragraph that a date, an address or a name makes a notice."""
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember)"
)
_LICENCE = (
    r"\ball rights reserved\b",
    r"\b(?:is|are|been placed) in the public domain\b",
    r"(?:\u00a9|\(c\)|\bcopyright\b|\bcopr\.)[^.]{0,40}\b(?:19|20)\d\d",
    r"^\W*(?:\u00a9|copyright\b)",
    r"\bpermission (?:is )?(?:hereby )?granted\b",
    r"\bpermission to (?:use|copy|make and distribute)\b",
    r"\b(?:un)?licensed under\b",
    r"\bSPDX-License\b",
    r"\b(?:published|released|distributed|available|covered) under .{0,60}(?:licen[sc]e|terms|GPL)",
    r"\bunder the terms (?:and conditions )?of\b",
    r"\bredistribut\w+ (?:and use|it and/or|of this)",
    r"\bmerchantability\b",
    r"\bfitness for a particular\b",
    r"\bwithout (?:any|even the implied) (?:\w+ )?warrant",
    r"\bwarranties of any kind\b",
    r"\bin no event (?:shall|will)\b",
    r"\bshall (?:not )?be (?:held )?liable\b",
    r"\bhold harmless\b",
    r"\bcopy of the (?:gnu|licen[sc]e)\b",
    r"\bcreative commons\b",
    r"\bgnu free documentation\b",
    r"\b(?:MIT|BSD|Apache|GPL|GNU General Public) Licen[sc]e\b",
    r"\btrademarks? (?:of|or)\b",
    r"\bregistered trademark",
    r"\bthere is no warranty\b",
    r"\bintended (?:only for the )?(?:recipient|addressee)",
    r"\b(?:e-?mail|message)\b.{0,60}\bconfidential\b",
)
_CONTENTS = (
    r"(?:\. ?){5,}\s*\d+",
    r"^\W*(?:table of contents|contents|list of (?:figures|tables))\W*(?:$|\d|\.)",
    r"^(?:(?:next|prev(?:ious)?|up|home|contents|index)\W+){2,}",
)
_IMPRINT = (
    r"\b(?:canonical source|latest version|copy) of th[ie]s? .{0,60}\b(?:is|https?:)",
    r"^\W*(?:version|release|revision|rev\.|edition|draft|last (?:updated|modified|changed?|revised)|updated|date"
    r"|edited|published|posted|written|created|generated|maintained|compiled|translated|translation|prepared|typeset)\b"
    r"(?=[^.]*(?:\d|\bby\b|:))",
    r"^\W*(?:by|authors?|maintainers?|editors?|contact|e-?mail|address|from|to|cc|subject)\s*:",
    r"\$(?:Id|Date|Revision|Header)\b",
    rf"^\W*(?:\d{{1,2}}\.? )?{_MONTH}\.? (?:\d{{1,2}},? )?(?:19|20)\d\d\W*$",
    r"^\W*(?:19|20)\d\d-\d\d-\d\d\b[^.]*$",
    r"[\w.+-]+@[\w-]+\.\w",
    r"[\w.+-]+ (?:at|AT) [\w-]+ (?:dot|DOT) \w",
    r"\b(?:Phone|Tel|Fax)\b(?:[.:]| ?[+(]? ?\d)",
    r"^(?:page\s+)?\d+(?:\s*(?:of|/)\s*\d+)?$",
    r"\[page \d+\]",
)

NoticeKind = Literal["licence", "contents", "imprint", ""]


def notice_kind(text: str) -> NoticeKind:
    """Classify a paragraph that is about its document.

    Args:
        text: The paragraph, in one line.

    Returns:
        "licence" (also copyright, warranty and trademarks), "contents" (also navigation) or "imprint" (a version, a
        date, an author, an address or a page number); empty for any other paragraph.
    """
    licence, contents, imprint = _patterns()
    if contents.search(text):
        return "contents"
    if licence.search(text):
        return "licence"
    return "imprint" if len(text.split()) <= _MAX_IMPRINT_WORDS and imprint.search(text.strip()) else ""


def is_notice(text: str) -> bool:
    """Return whether a paragraph is about its document: a licence, a table of contents or an imprint."""
    return bool(notice_kind(text))


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns above, in English, and those of other languages."""
    others = [language.patterns for language in languages().values()]
    return (
        any_of(*_LICENCE, *(patterns.get("licence", "") for patterns in others)),
        any_of(*_CONTENTS, *(patterns.get("contents", "") for patterns in others)),
        any_of(*_IMPRINT, *(patterns.get("imprint", "") for patterns in others)),
    )
