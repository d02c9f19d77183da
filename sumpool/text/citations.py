"""Citations of works in a bibliography, which summaries leave out together with the bibliography."""

import re

_STANDARD = r"(?:RFC|BCP|STD|FYI)[ -]?\d+"
_WORK = (
    rf"(?:[1-9]\d{{0,2}}(?:[-\u2013][1-9]\d{{0,2}})?|{_STANDARD}"
    r"|[A-Z][A-Za-z.:/-]*\d{2,4}[a-z]?|(?=[\w.-]*[A-Za-z])(?=[\w.-]*[A-Z\d][\w.-]*[A-Z\d])\w[\w.-]{2,}\w)"
)
"""A number from 1, a name and a year, or an abbreviation of four characters or more."""
_LABEL = rf"\[{_WORK}(?:[,;] ?{_WORK})*+\]"
_LABELS = rf"{_LABEL}(?:(?:,? and|,? or|,)? ?{_LABEL}){{0,29}}+"
_DESCRIBED = r"(?:described|defined|specified|documented|discussed|given|introduced|outlined|presented|proposed)"
_YEAR = r"(?:(?:19|20)\d\d[a-z]?|in press|forthcoming)"
_AUTHOR = r"(?:(?:van|von|de|der|den|la|le) )*[A-Z][\w'\u2019-]+"
_BY_AUTHOR = (
    rf"{_AUTHOR}(?:(?:, {_AUTHOR})*+,? (?:and|&) {_AUTHOR}|,? et al\.?|(?=, {_YEAR})),? {_YEAR}(?:, {_YEAR})*"
    r"(?:, (?:pp?\.|chap(?:ter|\.)|sec(?:tion|\.)) ?[\d.\u2013-]+)?"
)
_BRACKETS = re.compile(
    rf" ?\((?:(?:as )?{_DESCRIBED} (?:in|by) |see (?:also )?|cf\. |e\.g\.,? |i\.e\.,? |in )?{_LABELS}"
    r"(?:,? [^()]{0,99})?\)"
    rf"| ?\((?:see (?:also )?|cf\. |e\.g\.,? )?{_BY_AUTHOR}(?:; ?(?:see also )?{_BY_AUTHOR})*\)"
    rf"|[;,] (?:see )?{_LABELS}[^()]{{0,99}}(?=\))"
)
"""Citations in brackets, or at the end of what brackets have."""
_CLAUSE = re.compile(rf", (?:as )?{_DESCRIBED} (?:in|by) {_LABELS}(?:,(?! (?:and|or)\b)|(?=[.;]))")
"""Clause between commas that says where something is described."""
_AFTER_WORD = re.compile(rf"(?P<word>(?<![\w%\u2019'-])[\w%\u2019'-]+|[^\s\w])(?P<mark>[\"\u201d)]?) {_LABELS}")
_GOVERNOR = re.compile(
    r"(?:an?|the|th(?:is|at|[eo]se)|no|each|any|its|their|our|another|and|or|but|of|in|by|to|from|with|for|on|at|per|under"
    r"|as|than|via|between|within|into|over|through|using|since|see|cf|e\.g|i\.e|also|both|only|not|is|are|was|were|been?"
    r"|intervals?|range|scale|domain|ci|values|ref(?:erence)?s?"
    r"|(?:updat|obsolet|extend|replac|defin|specif|describ|supersed|revis|amend|implement|augment|complement|modif"
    r"|clarif|follow|us|support|provid|enhanc|alter|chang|cit)(?:e|es|ed|ing|s|y|ies|ied)?)\.?|\W",
    re.IGNORECASE,
)
"""Word before a citation that is part of the sentence, such as a preposition or a verb."""
_ABBREVIATION = re.compile(r"\(([\w-]+)\) \[\1\]")
"""Abbreviation and a citation that is named by it."""
_CITED_STANDARD = re.compile(rf"\[({_STANDARD})\]")
_ENTRY = re.compile(rf"{_LABEL} {_AUTHOR},? [A-Z]\.")


def without_citations(sentence: str) -> str:
    """Return a sentence without citations such as "[3]", "[Smith98]" and "(Smith and Jones, 1998)".

    Those that the sentence needs, as in "extends [RFC2119]", stay, standards without their brackets.
    """
    if ("[" not in sentence and "(" not in sentence) or is_bibliography_entry(sentence):
        return sentence
    text = _ABBREVIATION.sub(r"(\1)", _CLAUSE.sub("", _BRACKETS.sub("", sentence)))
    return _CITED_STANDARD.sub(r"\1", _AFTER_WORD.sub(_kept, text))


def _kept(match: re.Match[str]) -> str:
    """Return the words before citations, with the citations that they govern."""
    is_needed = bool(_GOVERNOR.fullmatch(match["word"])) and not match["mark"]
    return match[0] if is_needed else match["word"] + match["mark"]


def is_bibliography_entry(sentence: str) -> bool:
    """Return whether a sentence is an entry of a bibliography, or its beginning: a label, a name and initials."""
    return bool(_ENTRY.match(sentence))
