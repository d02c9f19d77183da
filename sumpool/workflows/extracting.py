"""Sentences of a document in place of those that the model writes: no claim that the document does not make.

The model says what a summary should be about, and of the document's sentences those are taken that agree with it most,
as the oracle of the evaluation agrees with a reference: so nothing is learnt for it, and nothing is spliced.
"""

from collections.abc import Sequence
from typing import final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.evaluation.baselines import oracle
from sumpool.evaluation.rouge import Words
from sumpool.text.sentences import SentenceSplitter
from sumpool.workflows.writing import Written

_MOST = 12
"""Sentences that are taken at most; mostly one more would agree less long before."""


@final
class Extractor:
    """Takes what the document says in place of what was written, where the settings want it."""

    def __init__(self, config: DecodingConfig, splitter: SentenceSplitter) -> None:
        self._mode = config.mode
        self._sure = config.sure
        self._splitter = splitter
        self._words = Words(stemmer=True)

    def extract(self, document: str, written: Sequence[Written]) -> str:
        """Give the sentences of a document that agree most with what was written about its passages, in their order.

        Returns:
            The sentences; empty where what was written is to stay, or no sentence shares a word with it.
        """
        if not written or self._mode == "abstractive" or (self._mode == "auto" and self._is_sure(written)):
            return ""
        sentences = [" ".join(sentence.split()) for sentence in self._splitter.split(document)]
        return oracle(sentences, " ".join(part.text for part in written), _MOST, self._words.tokenize)

    def _is_sure(self, written: Sequence[Written]) -> bool:
        return sum(part.certainty for part in written) / len(written) >= self._sure
