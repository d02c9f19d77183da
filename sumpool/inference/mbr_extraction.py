"""Sentences of a document in place of those that the model writes: no claim that the document does not make.

The model says what a summary should be about, and of the document's sentences those are taken that agree with it most,
as the oracle of the evaluation agrees with a reference: so nothing is learnt for it, and nothing is spliced. They are
to agree not with the one summary that the model likes best but, on average, with several drawn from all that it might
write: minimum Bayes risk (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283). What is drawn
about a text unlike those that were learnt from has little to do with how the text begins, and then the beginning has a
say too.
"""

import re
from collections.abc import Sequence
from typing import final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.evaluation.baselines import lead
from sumpool.evaluation.rouge import RougeTokenizer
from sumpool.evaluation.rouge_agreement import Agreement
from sumpool.inference.generation import Generated
from sumpool.text.cleaning import without_headings
from sumpool.text.sentences import SentenceSplitter

_MOST = 12
"""Sentences that are taken at most; mostly one more would agree less long before."""
_BEGINNING = 60
"""Words of the beginning of a document that stand for a summary of it."""
_END = re.compile(r"[.!?\u3002\u061f\u0964][\")'\u201d\u2019\]]*$")
"""Marks at the end of a sentence, and what may stand behind them."""
_PLAIN = 6
"""Words in small letters that a sentence without such a mark has at least."""
_DRAWN = 8
"""Drawn summaries that the own one and twice the beginning are set beside where the model is at a loss."""


@final
class MbrExtractor:
    """Takes what the document says in place of what was written, where the settings want it."""

    def __init__(self, config: DecodingConfig, splitter: SentenceSplitter) -> None:
        self._mode = config.mode
        self._doubt = config.ood_threshold
        self._sure = config.keep_threshold
        self._splitter = splitter
        self._words = RougeTokenizer(stemmer=True)

    def extract(self, document: str, written: Sequence[Generated]) -> str:
        """Give the sentences of a document that agree most with what the model might write about its passages.

        Returns:
            The sentences in their order; empty where what was written is to stay, or no sentence shares a word with
            what might be.
        """
        if not written or self._mode == "abstractive":
            return ""
        sentences = self._sentences(document)
        samples = [" ".join(texts) for texts in zip(*(part.samples for part in written), strict=True)]
        own, beginning = " ".join(part.text for part in written), lead(document, _BEGINNING)
        agreement = Agreement(samples, self._words.tokenize)
        at_a_loss = agreement.score(beginning) < self._doubt
        if at_a_loss:
            rest = [own, beginning, beginning] * -(-len(samples) // _DRAWN)
            agreement = Agreement([*samples, *rest], self._words.tokenize)
        taken = " ".join(sentences[place] for place in agreement.select(sentences, _MOST))
        keeps = (
            self._mode == "auto" and not at_a_loss and agreement.score(own) > max(self._sure, agreement.score(taken))
        )
        return "" if keeps else taken

    def _sentences(self, document: str) -> list[str]:
        """Give the sentences of a document: the first, which may be its title, and those that are prose."""
        found = [" ".join(sentence.split()) for sentence in self._splitter.split(without_headings(document))]
        return [*found[:1], *filter(_is_prose, found[1:])]


def _is_prose(sentence: str) -> bool:
    """Tell whether a sentence has an end, or enough plain words to be none of a list, a table or a command."""
    return bool(_END.search(sentence)) or sum(word.isalpha() and word.islower() for word in sentence.split()) >= _PLAIN
