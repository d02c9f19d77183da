"""References of a sentence to text that a summary leaves out: earlier sentences, lists, figures and other editions."""

import re
from collections.abc import Iterator
from functools import lru_cache

from sumpool.text.language import ENGLISH, languages
from sumpool.text.patterns import any_of

_STEM = 4
"""First characters of a noun that is mentioned again."""
_NAMED = 20
"""Words before "such" that are likely to have named, in other words, what it refers to."""
_CATAPHORIC = frozenset(
    (
        "that",
        "who",
        "whom",
        "whose",
        "which",
        "of",
        "in",
        "directly",
        "with",
        "without",
        "from",
        "for",
        "to",
        "used",
        "using",
        "needed",
        "required",
        "provided",
        "as",
        "are",
        "is",
        "on",
        "at",
        "by",
        "available",
    )
)
"""Words after "those" that say which are meant."""
_SIDES = r"(?:upper|lower|top|bottom|left|right|second|last|first|next|previous)"
_ANNOUNCING = (
    r"\blike (?:this|these|so)\b",
    r"\bas follows\b",
    r"\b(?:the|these|this) (?:\w+ )?following\b(?! (?:the|an?)\b)",
    r"^following\b|\b(?:and|or|in|use|with) following \w+",
    r"\b(?:shown|described|listed|mentioned|given|discussed|defined|explained|noted|seen|outlined|stated|used|see)"
    r" (?:above|below|here|earlier|previously|before)\b",
    r"\b(?:above|below)(?=[.,;:)])|\bthe (?:above|latter|aforementioned|aforesaid)\b",
    r"(?<=\w )this (?:one|way|time|point|case|list|table|example|option|step|problem|question|answer|reason)\b",
    r"\bthese (?:cases|examples|options|steps|reasons|rules)\b",
    r"\bthe (?:(?:one|two|three|four) other|other (?:two|three|four)) \w+",
    r"\bhere(?:'s| is| are)\b",
)
"""Wordings that refer to a list, which may stand in the sentence itself."""
_OMITTED = (
    r"\bthe former\b(?=[.,;:)]| (?:is|are|was|were|has|have|can|will|may|does|do|and|or|in|of)\b)",
    rf"\b{_SIDES}[- ](?:{_SIDES} |hand )?(?:diagram|figure|panel|plot|graph|table|picture|image|side|column)\b",
    r"\bthe (?:previous|next|preceding) (?:\w+ )?(?:section|chapter|example|paragraph|page|part|figure|table)\b",
    r"\bin part (?:one|two|three|\d)\b|\bsee (?:question|section|chapter)\b|\bin question \d",
    r"\bhere\.$",
    r"\b(?:section|chapter|appendix|page|figure|table|example|listing) (?:\d|(?-i:[A-Z])\b)|\blines? \d",
    r"\b(?:later|earlier|elsewhere) in (?:this|the)\b|\bin the (?:rest|remainder) of\b|\bas before\b|\blast time\b",
    r"\b(?:you|we)(?:['\u2019]ve| have) (?:now|just|already|seen|so far)\b",
    r"\bwe(?:['\u2019]re| are) going to\b|\bwe (?:just )?saw\b",
    r"\b(?:is|are|was|were) (?:described|documented|explained|discussed|listed) in\b",
    r"\bdescribed in (?-i:[A-Z])|\b(?:with|for|in) that (?:task|purpose|problem|case|end)\b(?!,? (?:if|when|where)\b)",
    r"^this (?:file|document|program|software|work|package) is (?:in the )?public domain\b",
    r"\b(?:in|of) (?:an? |the )?(?:opposite direction|(?:different|similar|same) (?:way|manner|fashion))\b",
    r"\b(?:version|edition|rewrite|copy|copies|translation|release|sources?) of (?:this|the) (?:\w+ )?"
    r"(?:document|manual|guide|book|faq|tutorial|text|page)\b",
    r"^(?:this|the) (?:\w+ )?(?:document|manual|guide|book|faq|tutorial|text|page) (?:was|is|has been)"
    r" (?:\w+ly )?(?:written in|maintained|published|generated|produced|translated|available|typeset|converted|posted"
    r"|distributed|licensed|part of|for|in the)\b",
    r"^(?:this|the|our) (?:\w+ )?(?:document|manual|guide|book|faq|tutorial|text|vignette|paper|introduction|report)"
    r"(?: to \w+)? (?:(?:was|is|has been) (?:loosely |partly |mostly )?(?:based on|derived from|adapted)|assumes?\b)",
    r"\bthis (?-i:License)\b|\b(?:the )?contents of this (?:document|manual|page|file)\b|\bKeep a Changelog\b",
    r"^all (?:notable|user-visible|important) changes\b.*\bdocumented\b",
    r"\byou can (?:visit|find (?:more|out)|read more)\b",
    r"^(?:this|the) (?:file|document|page) (?:records|lists|contains) (?:\w+ ){0,2}(?:changes|news)\b",
    r"\b(?:examples|commands) in this \w+ (?:assume|use)\b",
    r"\b(?:views|opinions|positions) .*\bin this (?:document|report)\b",
    r"^in this \w+,? .*\b(?:referred to|denoted|abbreviated)\b|\bsince this (?:\w+ )?(?:document|page|text) was\b",
)
"""Wordings that refer to what a summary leaves out."""
_CONNECTIVES = re.compile(
    r"(?:as a (?:result|consequence)|to be (?:more )?(?:specific|precise|exact)\b"
    r"|in (?:addition|contrast|particular|turn|other words|fact)"
    r"|on the (?:other|contrary)|by contrast|for (?:this|that|these) |because of (?:this|that|these)"
    r"|(?:after|before|until|besides|despite) (?:this|that|these)\b|at (?:this|that) (?:point|time|stage)"
    r"|to (?:do|achieve) (?:so|this|that|these)\b|even so|if not|luckily|alternatively|hopefully|anyway|here\b"
    r"|well,|ok,"
    r"|(?:if|when|because|since|while|although|unless|once|using|with|without) (?:it|they|this|that|these|those)\b"
    r"|(?:except|apart|aside|besides|unlike|like)\b[^,]*, (?:they|it|these|those)\b"
    r"|(?:use|run|call|put|set|make|give|add|try|do) (?:it|them|this|these)\b"
    r"|there (?:is|are) (?:also|other|another|two other)|most of (?:these|them)"
    r"|the (?:only|sole|main) exceptions? (?:is|are)\b|(?:if |when )?neither (?:are|is|was|were|has|have|can|does)\b"
    r"|\w+ly,? (?:it|they|this|these)\b"
    r"|this (?:affects|allows|applies|causes|ensures|gives|happens|implies|includes|lets|makes|means|needs|requires"
    r"|works)\b"
    r"|(?:some|all|many|each|one|none|neither|either|both) of (?:these|those|them|such|the two)"
    r"|(?:stattdessen|hingegen|zusätzlich|gleichzeitig|ebenfalls|letztere\w*|infolgedessen)\b"
    r"|(?:более того|в дополнение|в противном случае|в этом случае|вместо этого|кроме того|при этом|таким образом)\b)",
    re.IGNORECASE,
)
"""Start of a sentence that goes on from the one before it."""
_LISTED = re.compile(r":\s+\S")
"""A list in the sentence itself."""
_BRACKETS = re.compile(r" \([^()]*\)")
_SUBJECTLESS = re.compile(
    r"(?!(?:is|was|has|does|as|besides|sometimes|always|perhaps|towards|nowadays|whereas|thus|plus|minus|versus|this)\b)"
    r"[a-z]*[a-rt-z]s (?:(?:up|out|off) \w+|an?|the|all|its|whether)\b|(?:seems?|supersede[sd]|returns?|same as|like)\b"
    r"|the (?:(?!\w*(?:test|quest|guest|digest)\b)\w+est|most \w+) (?:is|are|of)\b"
    r"|the (?:only|hard|tricky|other|next|last) (?:part|thing|step|option|point|argument) (?:is|are)\b"
    r"|what about\b|[a-z]+(?: [a-z]+)? - [a-z]|(?:also )?included (?:is|are)\b",
    re.IGNORECASE,
)
"""Start of a sentence whose subject is named before it, as in the descriptions of functions ("Returns the number")."""
_DEMONSTRATIVE = re.compile(r"\b(this|these|those|such)\b(?:\s+([\w-]+))?(?:\s+([\w-]+))?", re.IGNORECASE)
_NO_NOUNS = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "and",
        "or",
        "can",
        "may",
        "will",
        "has",
        "have",
        "does",
        "do",
        "the",
        "to",
        "in",
        "of",
        "it",
        "they",
    )
)


def refers_to_omitted(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence refers to a list, figure or example that a summary leaves out, or to an edition."""
    announcing, omitted = _omitted(language)
    if omitted.search(sentence):
        return True
    return any(not _LISTED.search(sentence, match.end()) for match in announcing.finditer(sentence))


def lacks_subject(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence begins with its verb, or names its subject by "the last" or the like alone."""
    return language == ENGLISH and bool(_SUBJECTLESS.match(sentence))


def goes_on(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence goes on from the one before it, by a connective or a demonstrative without its noun.

    "The easiest way to do this ..." does; in "files with such names, and these files" the sentence has named them.
    """
    start = sentence.lstrip("\"'\u201c(")
    if _CONNECTIVES.match(start):
        return True
    if (consequence := _consequences(language)) and consequence.search(_BRACKETS.sub("", sentence)):
        return True
    return language == ENGLISH and any(_unresolved(sentence))


def _unresolved(sentence: str) -> Iterator[bool]:
    """Yield for each demonstrative but the first word whether the sentence has not named its noun before."""
    nouns = languages()[ENGLISH].self_references
    for match in _DEMONSTRATIVE.finditer(sentence):
        word, following = match[1].lower(), [text.lower() for text in match.groups()[1:] if text]
        before = sentence[: match.start()].lower()
        is_said = word == "such" and (following[:1] == ["as"] or len(before.split()) >= _NAMED)
        if not before.strip() or is_said:
            continue
        if word == "those" and (not following or following[0] in _CATAPHORIC):
            continue
        if not following or following[0] in _NO_NOUNS:
            yield word in ("this", "these") and len(before.split()) < 8
            continue
        is_self = word == "this" and any(noun.startswith(nouns) for noun in following)
        yield not is_self and not any(noun[:_STEM] in before for noun in following if len(noun) >= _STEM)


@lru_cache(maxsize=16)
def _omitted(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return wordings that refer to a list, which may follow them, as all of other languages, and to other text."""
    if language == ENGLISH:
        return any_of(*_ANNOUNCING), any_of(*_OMITTED)
    known = languages().get(language)
    return any_of(known.patterns.get("omitted", "") if known else ""), any_of()


@lru_cache
def _consequences(language: str) -> re.Pattern[str] | None:
    """Compile what says that a sentence follows from the one before it, or names a thing that that one has named."""
    known = languages().get(language)
    pattern = known.patterns.get("consequences") if known else None
    return re.compile(pattern, re.IGNORECASE) if pattern else None
