"""Choice of a generated summary: minimum Bayes risk over whole samples, after a check of their facts.

The candidates are the best hypothesis and the sampled summaries of a document. First the sentences that the settings
do not allow, see `summarize.factuality` and `fact_check`, are replaced by the source sentences that they copy most of,
or dropped, and sentences that are not well-formed are repaired or dropped. Then the candidate with the highest expected
agreement with the samples is chosen (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283),
without the sample that it was made from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from sumpool.core.decoding.config import DecodingConfig, LengthTarget
from sumpool.evaluation.rouge import Agreement, UnicodeTokenizer
from sumpool.inference.extraction import Extraction, Reading
from sumpool.inference.fact_check import FactCheck, FactChecker
from sumpool.inference.generation import Generated
from sumpool.text.language import UNSPACED, word_count
from sumpool.text.prose import PROSE_KINDS, is_whole_text, repair_text
from sumpool.text.sentences import SentenceSplitter

UNFOUNDED = "no generated sentence is founded in the document"
_MIN_REPLACED = 0.3
"""Fraction of the words of a sentence that its source must have to replace it."""
_MIN_WORDS = 5
"""Words of a sentence at least, where sentences are checked."""
_CACHED_TEXTS = 1 << 12
COPIED = "the model copied whole sentences"
"""Cause of a generated text that is extractive."""


@final
@dataclass(frozen=True)
class SummaryChooser:
    """Chooses among the best hypothesis and the sampled summaries of a document.

    Attributes:
        config: The settings.
        splitter: Sentence splitter of the language of the model.
        reading: The document.
    """

    config: DecodingConfig
    splitter: SentenceSplitter
    reading: Reading

    def choose(self, generated: Generated) -> tuple[str, Extraction, str]:
        """Choose the text of a summary, and say whether it can serve.

        Returns:
            The text, repaired as `summarize.repair` says; the sentences of the document that it consists of, if a text
            was chosen; why sentences must replace it, or nothing.
        """
        text, extraction, reading = generated.text, Extraction(), self.reading
        if text and reading.language not in UNSPACED:
            if self.config.repair:
                source = " ".join(reading.document.text.split())
                text = " ".join(repair_text(self.splitter.split(text), reading.language, source))
            if text and (self.config.mbr or self.config.factuality != "any"):
                chosen = self.choose_text([text, *generated.samples])
                if not chosen:
                    return text, extraction, UNFOUNDED
                text, sentences = chosen, reading.sentences
                numbers = {sentence.text: index for index, sentence in reversed([*enumerate(sentences)])}
                copied = {numbers.get(" ".join(part.split()), -1) for part in self.splitter.split(text)}
                if copied and -1 not in copied:
                    extraction = Extraction(tuple((index, sentences[index].text) for index in sorted(copied)), COPIED)
        target = reading.target
        cause = length_fault(target, reading.document.text, text, self.splitter) if target and text else ""
        return text, extraction, cause

    def choose_text(self, texts: Sequence[str]) -> str:
        """Choose the candidate with the highest agreement among those that are allowed.

        Args:
            texts: Best hypothesis and samples; the latter are candidates with `summarize.mbr` only.

        Returns:
            The text, one of the target's length if there is any; empty if no sentence of any candidate is allowed.
        """
        samples = texts[1:] or texts
        candidates = self._repaired(texts if self.config.mbr else texts[:1])
        indices = [index for index, text in enumerate(candidates) if text]
        if not indices:
            return ""
        if target := self.reading.target:
            lengths = {index: _length(candidates[index], target, self.splitter) for index in indices}
            met = [index for index, length in lengths.items() if target.minimum <= length <= target.maximum]
            indices = met or indices
        # Agreement with the samples, (texts, samples), of which text i > 0 is compared with others than sample i - 1.
        tokenize = lru_cache(_CACHED_TEXTS)(UnicodeTokenizer(stemmer=True).tokenize)
        known = [candidates[index] for index in indices]
        scores = np.stack([Agreement(sample, tokenize).scores(known) for sample in samples], axis=1)
        weights = np.ones(scores.shape)
        for row, index in enumerate(indices):
            weights[row, index - 1 : index] = 0  # none for the best hypothesis, index 0
        totals, agreements = weights.sum(axis=1), np.zeros(len(indices))
        np.divide((scores * weights).sum(axis=1), totals, out=agreements, where=totals > 0)
        return known[int(agreements.argmax())]  # the first of equals

    def _repaired(self, texts: Sequence[str]) -> list[str]:
        """Replace or drop the sentences of each text that are not allowed or not well-formed."""
        sources, language = [sentence.text for sentence in self.reading.sentences], self.reading.language
        check = lru_cache(_CACHED_TEXTS)(FactChecker(sources).check) if self.config.factuality != "any" else None
        repaired = []
        for text in texts:
            parts = [" ".join(part.split()) for part in self.splitter.split(text)]
            if check:
                parts = [self._allowed(part, check(part)) for part in parts]
            parts = repair_text(list(dict.fromkeys(filter(None, parts))), language)
            is_fragment = check and not is_whole_text(parts, language)
            repaired.append("" if is_fragment else " ".join(parts))
        return repaired

    def _allowed(self, sentence: str, checked: FactCheck) -> str:
        """Return a sentence, or the source that it copies most of, or nothing if that is little or no prose."""
        is_allowed = self.config.factuality == "facts" or not checked.spliced
        if is_allowed and checked.sources and not checked.unfounded and len(sentence.split()) >= _MIN_WORDS:
            return sentence
        if checked.copied < _MIN_REPLACED:
            return ""
        source = self.reading.sentences[checked.sources[0]]
        return source.text if source.kind in PROSE_KINDS else ""


def length_fault(target: LengthTarget, document: str, summary: str, splitter: SentenceSplitter) -> str:
    """Return why a written summary cannot serve for a target; empty if it has the target's length."""
    written, total = (_length(text, target, splitter) for text in (summary, document))
    if total <= target.maximum:
        return f"asked for {target}, the document has {total:,}"
    if target.minimum <= written <= target.maximum:
        return ""
    return f"asked for {target}, the model wrote {written:,}"


def _length(text: str, target: LengthTarget, splitter: SentenceSplitter) -> int:
    return len(splitter.split(text)) if target.in_sentences else word_count(text)
