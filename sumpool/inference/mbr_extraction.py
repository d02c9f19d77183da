"""Minimum Bayes risk extraction: sentences of the document in place of generated text.

The model states the content of a summary, and the document's sentences that agree with it most are selected, as the
oracle of the evaluation selects those that agree with a reference: nothing is trained for it, and the summary claims
nothing that the document does not. Agreement is the mean over several sampled summaries rather than that with the best
hypothesis (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283). Out of domain, where the samples
have little in common with the document's lead, sentences are also scored against the lead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.documents.document import Document
from sumpool.evaluation.agreement import Agreement, RougeTokenizer
from sumpool.inference.generation import Generated
from sumpool.inference.source import SourceSentence, encoded_sentences, is_prose
from sumpool.text.cleaning import first_words

MAX_SENTENCES = 12
"""Sentences of a summary at most; agreement mostly declines long before."""
LEAD_WORDS = 60
"""Words of a document's lead, a summary that needs no model."""
_SAMPLES_PER_LEAD = 8
"""Samples per copy of the generated text and two of the lead, where both are added to the samples out of domain."""


@dataclass(frozen=True)
class Extraction:
    """Sentences selected from a document; none if the generated text is kept.

    Attributes:
        sentences: The sentences in the order of the document, with single spaces.
        indices: Index of each among the sentences of the document, see `source_sentences`.
        cause: In mode auto, why sentences replace the generated text; empty otherwise.
    """

    sentences: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    cause: str = ""


NO_EXTRACTION = Extraction()


@final
class MbrExtractor:
    """Selects sentences in place of generated text, where the settings ask for it."""

    def __init__(self, config: DecodingConfig, max_words: int | None = None) -> None:
        """Prepare.

        Args:
            config: The settings.
            max_words: Most words of a summary of several sentences; None sets no limit.
        """
        self._config = config
        self._max_words = max_words
        self._words = RougeTokenizer(stemmer=True)

    def extract(
        self, document: Document, sentences: Sequence[SourceSentence], generated: Sequence[Generated]
    ) -> Extraction:
        """Select the sentences of a document that agree most with the sampled summaries of its chunks.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            generated: What was generated for its chunks.

        Returns:
            The sentences; none in mode abstractive, if mode auto keeps the generated text, or if no sentence shares a
            word with the samples.
        """
        config = self._config
        if not generated or config.mode == "abstractive":
            return NO_EXTRACTION
        samples = [" ".join(texts) for texts in zip(*(part.samples for part in generated), strict=True)]
        text, beginning = " ".join(part.text for part in generated), first_words(document.text, LEAD_WORDS)
        agreement = Agreement(samples, self._words.tokenize)
        lead_agreement = agreement.score(beginning)
        is_out_of_domain = lead_agreement < config.ood_threshold
        if is_out_of_domain:
            added = [text, beginning, beginning] * -(-len(samples) // _SAMPLES_PER_LEAD)
            agreement = Agreement([*samples, *added], self._words.tokenize)
        extraction = self._select(candidate_sentences(document, sentences), agreement)
        if config.mode == "extractive" or not extraction.sentences:
            return extraction
        if is_out_of_domain:
            cause = f"agreement with the lead {lead_agreement:.2f} < {config.ood_threshold:.2f}"
            return Extraction(extraction.sentences, extraction.indices, cause)
        threshold = max(config.keep_threshold, agreement.score(" ".join(extraction.sentences)))
        model_agreement = agreement.score(text)
        if model_agreement > threshold:
            return NO_EXTRACTION
        cause = f"agreement of the generated text {model_agreement:.2f} <= {threshold:.2f}"
        return Extraction(extraction.sentences, extraction.indices, cause)

    def _select(self, candidates: Sequence[tuple[int, str]], agreement: Agreement) -> Extraction:
        selected = [candidates[place] for place in self._shorten([text for _, text in candidates], agreement)]
        return Extraction(tuple(text for _, text in selected), tuple(index for index, _ in selected))

    def _shorten(self, sentences: Sequence[str], agreement: Agreement) -> list[int]:
        """Select sentences, without the last selected ones if there are more words than allowed."""
        places = agreement.select(sentences, MAX_SENTENCES)
        while self._max_words is not None and len(places) > 1:
            if sum(len(sentences[place].split()) for place in places) <= self._max_words:
                break
            places = agreement.select(sentences, len(places) - 1)
        return places


def candidate_sentences(document: Document, sentences: Sequence[SourceSentence]) -> list[tuple[int, str]]:
    """Return index and text of the sentences that may be selected: the first, maybe the title, and all prose."""
    readable = [index for index in encoded_sentences(document, sentences) if sentences[index].kind != "heading"]
    texts = [sentences[index].text for index in readable]
    return [pair for place, pair in enumerate(zip(readable, texts, strict=True)) if place == 0 or is_prose(pair[1])]
