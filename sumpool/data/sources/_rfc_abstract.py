"""The abstract of an RFC, as the RFC index prints it, without what the index adds."""

import re

from sumpool.data.sources._rfc_cleaning import unwrap

_STAMP = re.compile(
    r"\[\s*(?:(?:PROPOSED |DRAFT |INTERNET )?STANDARDS?(?:[- ]+TRACK)?|INFORMATIONAL|EXPERIMENTAL|HISTORIC(?:AL)?)\s*\]"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"(\[])")
_BOILERPLATE = re.compile(
    r"This (?:memo|document|RFC|paper) provides information (?:for|to) the (?:ARPA-?|DARPA )?\s?Internet community\b.*"
    r"|(?:This (?:memo|document|RFC)|It) does not (?:specify|define) an(?:y)? (?:Internet )?standards?\b.*"
    r"|(?:This (?:memo|document|RFC)|It) (?:defines|is|documents|specifies|describes) an? "
    r"(?:Experimental Protocol|Historic Document|Internet Best Current Practices?)\b.*"
    r"|(?:This (?:memo|document) is|.*) not an Internet Standards Track specification\b.*"
    r"|Discussion and suggestions for improvement are (?:requested|welcome)\.?"
    r"|Distribution of this (?:memo|document) is unlimited\.?",
    re.IGNORECASE,
)


def abstract(text: str) -> str:
    """Make an abstract of the RFC index one paragraph, without the sentences that the index adds to many.

    Returns:
        The text; empty where nothing is left.
    """
    sentences = _SENTENCE_END.split(unwrap([_STAMP.sub(" ", text)]))
    return " ".join(sentence for sentence in sentences if not _BOILERPLATE.fullmatch(sentence))
