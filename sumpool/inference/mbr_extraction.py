"""Minimum Bayes risk extraction: sentences of the document in place of generated text.

The model states the content of a summary, and the document's sentences that agree with it most are selected, as the
oracle of the evaluation selects those that agree with a reference: nothing is trained for it, and the summary claims
nothing that the document does not. Agreement is the mean over several sampled summaries rather than that with the best
hypothesis (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283), and counts beside what the
ranker has learnt, see `sumpool.ranking`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import LengthTarget
from sumpool.documents.document import Document
from sumpool.evaluation.agreement import Agreement, RougeTokenizer
from sumpool.inference.extraction import extract, with_cause
from sumpool.inference.generation import Generated
from sumpool.inference.summary import NO_EXTRACTION, Extraction
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.text.cleaning import first_words

LEAD_WORDS = 60
"""Words of a document's lead, a summary that needs no model."""
_MIN_WORDS, _MAX_WORDS = 60, 120
"""Words of a summary of sentences in place of a generated text that is shorter or longer."""


@final
class MbrExtractor:
    """Selects sentences in place of generated text, where the settings ask for it.

    Attributes:
        may_extract: Whether the mode allows sentences in place of generated text.
    """

    def __init__(self, config: DecodingConfig, selector: SentenceSelector) -> None:
        """Prepare by the settings, and the selector of sentences."""
        self.may_extract = config.mode != "abstractive"
        self._config = config
        self._selector = selector
        self._tokenize = RougeTokenizer(stemmer=True).tokenize

    def extract(
        self,
        candidates: Callable[[], Candidates],
        generated: Generated,
        target: LengthTarget | None = None,
        cause: str = "",
    ) -> Extraction:
        """Select the sentences of a document that agree most with the sampled summaries.

        Args:
            candidates: Returns the candidates of the document.
            generated: What was generated for it.
            target: Length of the summary; None selects as long as the agreement rises.
            cause: Why sentences must replace the generated text whatever the mode; empty if they need not.

        Returns:
            The sentences, all of them if a summary would not be shorter; none in mode abstractive, if mode auto keeps
            the generated text, or if no sentence shares a word with the samples.
        """
        if not (self.may_extract or cause):
            return NO_EXTRACTION
        document = candidates().document
        samples = generated.samples or (generated.text,)
        agreement = Agreement(samples, self._tokenize)
        lead_agreement = agreement.score(_lead(document))
        threshold = self._config.ood_threshold
        is_out_of_domain = lead_agreement < threshold
        words = None if is_out_of_domain else _words_of(samples if document.blocks else (generated.text,))
        sampled = replace(generated, samples=samples)
        extraction = extract(candidates(), self._selector, target, words=words, sampled=sampled)
        is_whole = not target and bool(extraction.cause)
        if self._config.mode == "extractive" or not extraction.sentences or (is_whole and not cause):
            return extraction
        if is_out_of_domain:
            cause = cause or f"agreement with the lead {lead_agreement:.2f} < {threshold:.2f}"
        elif document.blocks:  # generated text splices spans, which whole sentences of such a document need not
            cause = cause or "whole sentences are preferred"
        return with_cause(extraction, cause) if cause else self._compared(generated, extraction, agreement)

    def needs_search(self, document: Document, samples: Sequence[str]) -> bool:
        """Return whether the summary of a document depends on the best hypothesis.

        It does not if the document has a structure, whose sentences are preferred to generated text, or if the samples
        show that it is out of domain.
        """
        if not self.may_extract:
            return True
        if document.blocks:
            return False
        return Agreement(samples, self._tokenize).score(_lead(document)) >= self._config.ood_threshold

    def _compared(self, generated: Generated, extraction: Extraction, agreement: Agreement) -> Extraction:
        """Return an extraction unless the generated text agrees more with the samples."""
        config = self._config
        threshold = max(config.keep_threshold, agreement.score(" ".join(extraction.sentences)) + config.keep_margin)
        of_text = agreement.score(generated.text) if generated.agreement is None else generated.agreement
        if of_text > threshold:
            return NO_EXTRACTION
        return with_cause(extraction, f"agreement of the generated text {of_text:.2f} <= {threshold:.2f}")


def _lead(document: Document) -> str:
    return first_words(document.text, LEAD_WORDS)


def _words_of(generated: Sequence[str]) -> int:
    """Words of an extractive summary in place of generated texts, by their median."""
    sizes = sorted(len(text.split()) for text in generated)
    return max(_MIN_WORDS, min(sizes[len(sizes) // 2], _MAX_WORDS))
