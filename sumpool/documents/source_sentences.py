"""Sentences of a document: one list for encoding, ranking, evidence and the spans of the Python API.

Blocks are split one by one, so that headings, list items and table rows are never part of a sentence of prose.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from sumpool.documents.document import Document, TextBlock, TextBlockKind
from sumpool.text.cleaning import clean
from sumpool.text.sentences import SentenceSplitter

_WHOLE_KINDS = ("heading", "table_row", "code")
"""Kinds of blocks that are one sentence."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """Sentence of a document.

    Attributes:
        text: The sentence, with single spaces.
        start: Start in the text of the document, in characters.
        end: End in the text of the document, in characters.
        block: Index of its block; without blocks, of its part of the text, see `text_spans`.
        kind: Kind of its block or part.
        page: Page of its block, from 1; None if unknown.
        line: First line of its block, from 1; None if unknown.
        document: Id of its document among those of a digest; empty otherwise.
    """

    text: str
    start: int
    end: int
    block: int = 0
    kind: TextBlockKind = "paragraph"
    page: int | None = None
    line: int | None = None
    document: str = ""


def source_sentences(document: Document, splitter: SentenceSplitter) -> tuple[SourceSentence, ...]:
    """Split a document into sentences, in order.

    Documents without blocks are divided into headings, paragraphs, list items, captions, table rows and code by their
    text.
    """
    names = [part.id for part in document.parts for _ in part.blocks]
    sentences: list[SourceSentence] = []
    for index, (block, offset) in enumerate(_parts(document)):
        name = names[index] if names else ""
        parts = [clean(block.text)] if block.kind in _WHOLE_KINDS else splitter.split(block.text)
        texts = [" ".join(part.split()) for part in parts]
        for text, span in zip(texts, locate_sentences(block.text, texts), strict=True):
            if span:
                start, end = offset + span[0], offset + span[1]
                sentences.append(SourceSentence(text, start, end, index, block.kind, block.page, block.line, name))
    return tuple(sentences)


def locate_sentences(text: str, sentences: Sequence[str]) -> list[tuple[int, int] | None]:
    """Locate sentences in the text that they were split from.

    Args:
        text: The text.
        sentences: Its sentences in order, with single spaces and without characters that cleaning removes.

    Returns:
        Start and end of each sentence in the text; None for one that is not found.
    """
    if all(sentences) and " ".join(sentences) == text:  # as most blocks are
        starts = accumulate((len(sentence) + 1 for sentence in sentences), initial=0)
        return [(start, start + len(sentence)) for start, sentence in zip(starts, sentences, strict=False)]
    spans: list[tuple[int, int] | None] = []
    words, word_spans = text.split(), [word.span() for word in _WORD.finditer(text)]
    position = 0
    for sentence in sentences:
        expected = sentence.split()
        end = position + len(expected)
        if not expected or words[position:end] != expected:
            return _locate_characters(text, sentences)
        spans.append((word_spans[position][0], word_spans[end - 1][1]))
        position = end
    return spans


def _locate_characters(text: str, sentences: Sequence[str]) -> list[tuple[int, int] | None]:
    """Locate sentences by their characters, without white space; the text may have others, which cleaning removes."""
    visible = {character for character in set(text) if _is_visible(character)}
    offsets = [offset for offset, character in enumerate(text) if character in visible]
    stripped = "".join(text[offset] for offset in offsets)
    spans: list[tuple[int, int] | None] = []
    position = 0
    for sentence in sentences:
        characters = "".join(character for character in sentence if character in visible)
        start = stripped.find(characters, position) if characters else -1
        if start < 0:
            spans.append(None)
            continue
        position = start + len(characters)
        spans.append((offsets[start], offsets[position - 1] + 1))
    return spans


def _parts(document: Document) -> Iterator[tuple[TextBlock, int]]:
    """Yield the blocks of a document, or the parts of its text where it has none, each with its start in the text."""
    if not document.blocks:
        # Imported here, as documents with blocks do not need it.
        from sumpool.documents.formats.text import text_spans

        yield from text_spans(document.text)
    offset = 0
    for block in document.blocks:
        yield block, offset
        offset += len(block.text) + 2


@lru_cache(maxsize=1 << 12)
def _is_visible(character: str) -> bool:
    return bool(clean(character).split())
