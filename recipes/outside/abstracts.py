"""Abstracts of documents: their blocks, the text of the reference, and the document without them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile
from pathlib import Path

import pypdfium2
from common import to_markdown

from sumpool.documents.document import TextBlock
from sumpool.documents.files import open_bytes
from sumpool.documents.sections import cut_back_matter
from sumpool.text.sentences import SentenceSplitter

ABSTRACT_WORDS = range(40, 301)
MIN_BODY_WORDS = 1000
MAX_BLOCKS_BEFORE = 40
"""Blocks of title, authors, affiliations and contents before an abstract."""
MAX_HEADING_WORDS = 20
MIN_SENTENCE_WORDS = 10
"""Words of a heading with a period at its end that is a sentence."""
MAX_ADDRESS_WORDS = 2
"""Words of a line of code that is taken for an address in an abstract."""
_FIRST_PAGES = 3
_MENTION = re.compile(r"^\W*(?:executive )?(?:a ?b ?s ?t ?r ?a ?c ?t|summary)\b", re.IGNORECASE | re.MULTILINE)
_NEXT_SECTION = re.compile(r"\b(?:Contents|Introduction)\b|\b1 [A-Z]")
_HEADING = re.compile(
    r"(?:executive summary|abstract|a b s t r a c t|summary|synopsis)\s*[.:\u2013\u2014-]*", re.IGNORECASE
)
_LABEL = re.compile(r"(?:Abstract|ABSTRACT|Summary(?=[.:]))\s*[.:\u2013\u2014-]*\s+(?=[\"\u201c(]?[A-Z0-9])")
_INTRODUCTION = re.compile(r"(?:[\dI]\.?\s+)?introduction\b|(?:1|I)\.?\s+\w", re.IGNORECASE)
_END = re.compile(
    r"(?:index |author )?key ?-?words?\b|(?:categories and )?subject (?:descriptors|classification)|general terms"
    r"|(?:\d{4} )?(?:AMS|MSC|JEL|ACM|CCS|PACS)\b|date:|affiliations?\b|author (?:of|for)|correspond(?:ence|ing)\b"
    r"|address\b|e-?mail\b|contents$|this (?:paper |document )?is an? (?:pre-?print|reprint|draft)|copyright\b|\u00a9"
    r"|acknowledge?ments?\b|article history|received\b|permission to|licen[sc]e\b|doi\b|https?://",
    re.IGNORECASE,
)
"""Start of a block that is not part of an abstract any more."""
_PROVENANCE = re.compile(
    r"\b(?:modified|updated|extended|revised|shortened|earlier|previous|preliminary) version of\b.*\d{4}"
    r"|\b(?:was|is|been|were|article|paper) (?:also |originally )?(?:published|submitted) (?:as|in|by|for|to)\b"
    r"|\bpre-?print\b|\bcopyright\b|\u00a9|^Published (?:as|in)\b|\bpackage version: "
    r"|\bplease cite\b|\bto cite\b|\bshould be cited\b|\bcite (?:this|the) \w+ as\b"
    r"|^(?:that|the (?:original|published|journal)) (?:version|paper|article)\b",
    re.IGNORECASE,
)
"""Sentence of an abstract about the publication of the document."""
_CONTENTS = re.compile(r"\s(?:Table of )?Contents (?=[\dA-Z])")
_TERMINAL = re.compile(r"[.!?][\")'\u201d\u2019\]]*$")
_NUMBERS = re.compile(r"[\d\s.,-]*")


def has_abstract(pdf: Path, max_pages: int = 1000) -> bool:
    """Return whether the first pages of a PDF file have an abstract of enough words; much faster than parsing it.

    Args:
        pdf: File, possibly compressed by gzip.
        max_pages: Pages that the file may have.
    """
    with open_bytes(pdf) as stream:
        content = stream.read()
    try:
        file = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:
        return False
    pages = (file[number].get_textpage().get_text_range() for number in range(min(_FIRST_PAGES, len(file))))
    text = "\n".join(pages) if len(file) <= max_pages else ""
    mentions = (text[mention.end() :].split(maxsplit=ABSTRACT_WORDS.start) for mention in _MENTION.finditer(text))
    starts = (" ".join(words[: ABSTRACT_WORDS.start]) for words in mentions if len(words) >= ABSTRACT_WORDS.start)
    return any(not _NEXT_SECTION.search(start) for start in starts)


def split_abstract(blocks: Sequence[TextBlock]) -> tuple[str, tuple[TextBlock, ...]]:
    """Split the blocks of a document into its abstract and its body.

    The body is without title, authors, keywords, and the sections behind the text.

    Returns:
        The abstract in one paragraph, and the blocks of the body; "" if there is no abstract.
    """
    blocks = [_demote(block) for block in blocks]
    start = next((index for index, block in enumerate(blocks[:MAX_BLOCKS_BEFORE]) if _opens_abstract(block)), None)
    if start is None or any(_INTRODUCTION.match(block.text) for block in blocks[1:start] if block.kind == "heading"):
        return "", tuple(blocks)
    opening = blocks[start]
    text = "" if _HEADING.fullmatch(opening.text) else _LABEL.sub("", opening.text, count=1)
    rest = [block for block in blocks[start + 1 :] if block.kind != "caption" and not _NUMBERS.fullmatch(block.text)]
    rest = rest if text else list(dropwhile(_is_provenance, rest))
    members = list(takewhile(_is_abstract, rest))
    abstract = tidy_abstract(" ".join([text, *(block.text for block in members)]))
    return abstract, cut_back_matter(tuple(_without_keywords(rest[len(members) :])))[0]


def _demote(block: TextBlock) -> TextBlock:
    """Turn a sentence that was taken for a heading into a paragraph."""
    count = len(block.text.split())
    is_sentence = count > MAX_HEADING_WORDS or (count >= MIN_SENTENCE_WORDS and block.text.endswith("."))
    return replace(block, kind="paragraph", level=0) if block.kind == "heading" and is_sentence else block


def _opens_abstract(block: TextBlock) -> bool:
    return block.kind in ("heading", "paragraph") and bool(_HEADING.fullmatch(block.text) or _LABEL.match(block.text))


def _is_provenance(block: TextBlock) -> bool:
    return bool(_END.match(block.text) or _is_address(block) or block.kind == "notice")


def _is_address(block: TextBlock) -> bool:
    return block.kind == "code" and len(block.text.split()) <= MAX_ADDRESS_WORDS


def _is_abstract(block: TextBlock) -> bool:
    return (block.kind in ("paragraph", "list_item") or _is_address(block)) and not _END.match(block.text)


def _without_keywords(blocks: Sequence[TextBlock]) -> Iterable[TextBlock]:
    """Leave out what stands between the abstract and the first heading, if it is not prose of the body."""
    count = next(
        (index for index, block in enumerate(blocks) if block.kind == "heading" and not _END.match(block.text)), 0
    )
    before = [block for block in blocks[:count] if block.kind == "paragraph" and not _END.match(block.text)]
    return [*(block for block in before if len(block.text.split()) >= ABSTRACT_WORDS.start), *blocks[count:]]


def tidy_abstract(text: str) -> str:
    """Return an abstract without its label, sentences about its publication, and what stands behind it."""
    text = _CONTENTS.split(_LABEL.sub("", " ".join(text.split()), count=1))[0]
    sentences = [part for part in SentenceSplitter().split(text) if not _PROVENANCE.search(part)]
    while len(sentences) > 1 and not _TERMINAL.search(sentences[-1].strip()):
        sentences.pop()
    return " ".join(" ".join(sentences).split())


def is_paper(abstract: str, body: Iterable[TextBlock]) -> bool:
    """Return whether abstract and body have enough words."""
    return len(abstract.split()) in ABSTRACT_WORDS and len(to_markdown(body).split()) >= MIN_BODY_WORDS
