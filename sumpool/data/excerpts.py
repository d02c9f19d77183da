"""Excerpts of documents to learn from, where the documents alone are known."""

from collections.abc import Callable, Iterator
from itertools import islice

from sumpool.data.sources._base import Example, Reject
from sumpool.text.sentences import SentenceSplitter

Cut = Callable[[str, list[str]], Iterator[tuple[str, str]]]
"""From the name and the sentences of a document to what stands for documents and summaries."""


def excerpts(rows: Iterator[Example | Reject], cut: Cut, most: int) -> Iterator[Example | Reject]:
    """Put excerpts in place of documents, named after their document and their number in it.

    Args:
        rows: Documents, whose summaries are not looked at; a bad row stays what it is.
        cut: Makes the excerpts of a document, one at a time.
        most: Excerpts of a document, its first ones.
    """
    splitter = SentenceSplitter.default()
    for row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        cuttings = islice(cut(row.id, splitter.split(row.document)), most)
        for number, (document, summary) in enumerate(cuttings):
            yield Example(f"{row.id}#{number}", document, summary, row.split)
