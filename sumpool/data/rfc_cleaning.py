"""Cleaning of RFC texts and abstracts.

`clean_body` removes page breaks, the title block, legal sections, the table of contents, the abstract (the reference
summary), headings, drawings, tables and hex dumps, and joins every paragraph into one line.
"""

import re

from sumpool.documents.plain_text.lines import unwrap
from sumpool.documents.rfc import classify_blocks
from sumpool.text.sentences import SentenceSplitter

_STAMP = re.compile(
    r"\[\s*(?:(?:PROPOSED |DRAFT |INTERNET )?STANDARDS?(?:[- ]+TRACK)?|INFORMATIONAL|EXPERIMENTAL|HISTORIC(?:AL)?)\s*\]"
)
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


def clean_body(text: str) -> str:
    """Return the prose of an RFC as paragraphs of one line each, separated by empty lines."""
    return "\n\n".join(unwrap(block.lines) for block in classify_blocks(text) if block.part == "prose")


def clean_abstract(text: str) -> str:
    """Return an abstract of the RFC index as one paragraph, without the boilerplate that the index adds.

    The result is empty if only boilerplate is given.
    """
    sentences = map(str.strip, SentenceSplitter().split(unwrap([_STAMP.sub(" ", text)])))
    return " ".join(sentence for sentence in sentences if not _BOILERPLATE.fullmatch(sentence))
