"""Selection of what a model reads of a document that is longer than its input: the best-ranked sentences."""

from collections.abc import Sequence
from typing import final

import numpy as np

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.source import EncodedSource
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.tokenizer import EncodedDocument


@final
class SourceSelector:
    """Selects sentences by the scores of a ranker."""

    def __init__(self, selector: SentenceSelector) -> None:
        self._selector = selector

    def select(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        source: EncodedSource,
        language: str,
        length: int,
    ) -> tuple[EncodedDocument, tuple[int, ...]] | None:
        """Select the best sentences of prose, in the order of the document.

        Args:
            document: The document.
            sentences: Its sentences.
            source: Their tokens, without special tokens.
            language: Code of the language.
            length: Most tokens of the selection.

        Returns:
            The tokens, and by sentence number the index of each sentence; None where no
            sentence fits.
        """
        scores = self._selector.rank_prose(document, sentences, language)
        ids, numbers = source.document.ids, source.document.sentences
        sizes = np.bincount(numbers, minlength=len(source.indices))
        ranked = [number for number, index in enumerate(source.indices) if index in scores]
        ranked.sort(key=lambda number: -scores[source.indices[number]])
        chosen: list[int] = []
        room = length
        for number in ranked:
            if sizes[number] <= room:
                chosen.append(number)
                room -= int(sizes[number])
        if not chosen:
            return None
        kept = np.isin(numbers, chosen)
        _, renumbered = np.unique(numbers[kept], return_inverse=True)
        indices = tuple(source.indices[number] for number in sorted(chosen))
        return EncodedDocument(ids[kept], renumbered.astype(np.int32)), indices
