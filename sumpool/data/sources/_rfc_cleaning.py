"""From the pages of an RFC to the prose of its body.

An RFC is plain text laid out for a line printer: pages with headers and footers, a block with the authors, legal
sections, a table of contents. `body` takes all of that out, the abstract too, because that is what a model is asked
for, and makes every paragraph one line. Drawings and dumps go as well; headings stay.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

Block = list[str]
"""Lines that stand together, indentation kept."""


def body(text: str) -> str:
    """Give the text of an RFC as paragraphs of one line each, with an empty line between them."""
    blocks = list(_blocks(_without_page_breaks(text)))
    kept = _without_tail(_without_front_matter(blocks))
    return "\n\n".join(unwrap(block) for block in kept if _is_prose(block))


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; a hyphen that ends a line stays, without a space behind it."""
    text = " ".join(" ".join(line.split()) for line in lines)
    return _BROKEN_WORD.sub(r"\1-\2", text).strip()


_BROKEN_WORD = re.compile(r"(?<=\w)(\w)- (?=[a-z])(\w)")
