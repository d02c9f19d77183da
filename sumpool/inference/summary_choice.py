"""Choice of a generated summary: minimum Bayes risk over whole samples, after a check of their facts.

The candidates are the best hypothesis and the sampled summaries of a document. First the sentences that the settings
do not allow, see `summarize.factuality`, are replaced by the source sentences that they copy most of, or dropped, and
sentences that are not well-formed are repaired or dropped. Then the candidate with the highest expected agreement with
the samples is chosen (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283), without the sample
that it was made from.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import LengthTarget
from sumpool.documents.source_sentences import SourceSentence
from sumpool.evaluation.rouge import Agreement, RougeTokenizer
from sumpool.inference.factuality import FactCheck, FactChecker
from sumpool.inference.generation import Generated
from sumpool.text.form import repair_text, text_faults
from sumpool.text.language import ENGLISH, word_count
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter

_MIN_REPLACED = 0.3
"""Fraction of the words of a sentence that its source must have to replace it."""
_MIN_WORDS = 5
"""Words of a sentence at least, where sentences are checked."""
_CACHED_TEXTS = 1 << 12


@final
class SummaryChooser:
    """Chooses among the best hypothesis and the sampled summaries of a document."""

    def __init__(self, config: DecodingConfig, splitter: SentenceSplitter) -> None:
        """Prepare by the settings."""
        self._config = config
        self._splitter = splitter
        self._tokenize = lru_cache(_CACHED_TEXTS)(RougeTokenizer(stemmer=True).tokenize)

    def choose(
        self,
        generated: Generated,
        sentences: Sequence[SourceSentence],
        target: LengthTarget | None = None,
        language: str = ENGLISH,
    ) -> Generated:
        """Choose the text of a summary.

        Args:
            generated: Best hypothesis and samples.
            sentences: Sentences of the document.
            target: Length of the summary; candidates of this length are preferred.
            language: Language of the document.

        Returns:
            The same with the chosen text and its agreement with the samples. The text is empty if no sentence of any
            candidate is allowed; the samples then are not empty.
        """
        if not generated.text:
            return generated
        candidates = [generated.text, *(generated.samples if self._config.mbr else ())]
        texts = self._repaired(candidates, sentences, language)
        indices = [index for index, text in enumerate(texts) if text]
        if not indices:
            return replace(generated, text="", samples=generated.samples or (generated.text,), agreement=0.0)
        if target:
            indices = [index for index in indices if self._has_length(texts[index], target)] or indices
        agreements = self._agreements([texts[index] for index in indices], indices, generated)
        best = int(agreements.argmax())  # the first of equals
        return replace(generated, text=texts[indices[best]], agreement=float(agreements[best]))

    def _repaired(self, texts: Sequence[str], sentences: Sequence[SourceSentence], language: str) -> list[str]:
        """Replace or drop the sentences of each text that are not allowed or not well-formed."""
        sources = [sentence.text for sentence in sentences]
        check = lru_cache(_CACHED_TEXTS)(FactChecker(sources).check) if self._config.factuality != "any" else None
        repaired = []
        for text in texts:
            parts = [" ".join(part.split()) for part in self._splitter.split(text)]
            if check:
                parts = [
                    part if self._is_allowed(part, check(part)) else _source(check(part), sentences) for part in parts
                ]
            parts = repair_text(list(dict.fromkeys(filter(None, parts))), language)
            is_fragment = check and any(text_faults(parts, language=language))
            repaired.append("" if is_fragment else " ".join(parts))
        return repaired

    def _is_allowed(self, sentence: str, checked: FactCheck) -> bool:
        if checked.unfounded or not checked.sources or len(sentence.split()) < _MIN_WORDS:
            return False
        return self._config.factuality == "facts" or not checked.spliced

    def _has_length(self, text: str, target: LengthTarget) -> bool:
        words = len(self._splitter.split(text)) if target.in_sentences else word_count(text)
        return target.minimum <= words <= target.maximum

    def _agreements(self, texts: Sequence[str], indices: Sequence[int], generated: Generated) -> NDArray[np.float64]:
        """Agreement of texts with the samples, (texts,); for index i > 0, without sample i - 1."""
        samples = generated.samples or (generated.text,)
        scores = np.stack([Agreement(sample, self._tokenize).scores(texts) for sample in samples], axis=1)
        weights = np.ones(scores.shape)  # (texts, samples)
        for row, index in enumerate(indices):
            weights[row, index - 1 : index] = 0  # none for the best hypothesis, index 0
        totals = weights.sum(axis=1)
        agreements = np.zeros(len(texts))
        np.divide((scores * weights).sum(axis=1), totals, out=agreements, where=totals > 0)
        return agreements


def _source(checked: FactCheck, sentences: Sequence[SourceSentence]) -> str:
    """Return the source sentence that a sentence copies most of; empty if that is little or no prose."""
    if not checked.sources or checked.copied < _MIN_REPLACED:
        return ""
    source = sentences[checked.sources[0]]
    return source.text if source.kind in PROSE_KINDS else ""
