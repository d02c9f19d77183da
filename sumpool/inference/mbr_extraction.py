"""Minimum Bayes risk extraction: sentences of the document in place of generated text.

The model states the content of a summary, and the document's sentences that agree with it most are selected, as the
oracle of the evaluation selects those that agree with a reference: nothing is trained for it, and the summary claims
nothing that the document does not. Agreement is the mean over several sampled summaries rather than that with the best
hypothesis (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283). Out of domain, where the samples
have little in common with the document's lead, sentences are also scored against the lead.

With a ranker, and in documents with blocks, agreement is one of several features, and candidates are whole sentences of
prose, see `sumpool.ranking`. Texts that the model has not learnt are summarised by the other features alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, is_prose
from sumpool.evaluation.agreement import Agreement, RougeTokenizer
from sumpool.inference.generation import Generated
from sumpool.inference.source import encoded_sentences
from sumpool.inference.summary import NO_EXTRACTION, Extraction, join_causes
from sumpool.text.cleaning import first_words
from sumpool.text.language import ENGLISH, word_count

MAX_SENTENCES = 12
"""Sentences of a summary at most; agreement mostly declines long before."""
LEAD_WORDS = 60
"""Words of a document's lead, a summary that needs no model."""
_MIN_WORDS, _MAX_WORDS = 60, 120
"""Words of a summary of sentences in place of a generated text that is shorter or longer."""
_SAMPLES_PER_LEAD = 8
"""Samples per copy of the generated text and two of the lead, where both are added to the samples out of domain."""


class _SentenceExtractor(Protocol):
    """See `sumpool.inference.extraction.SentenceExtractor`."""

    has_ranker: bool

    def extract(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        language: str,
        target: LengthTarget | None = None,
        *,
        words: int | None = None,
        sampled: Generated | None = None,
    ) -> Extraction: ...

    def whole_text(self, sentences: Sequence[SourceSentence], words: int) -> Extraction | None: ...


@final
class MbrExtractor:
    """Selects sentences in place of generated text, where the settings ask for it.

    Attributes:
        may_extract: Whether the mode allows sentences in place of generated text.
    """

    def __init__(self, config: DecodingConfig, folder: Path | None = None, language: str = ENGLISH) -> None:
        """Prepare by the settings.

        Args:
            config: The settings.
            folder: Run folder with the sentence ranker; without one sentences are ranked by rules.
            language: Language that the ranker has learnt.
        """
        self.may_extract = config.mode != "abstractive"
        self._config, self._folder, self._language = config, folder, language
        self._tokenize = RougeTokenizer(stemmer=True).tokenize

    @cached_property
    def _sentences(self) -> "_SentenceExtractor":
        """Extractor by a ranker; imported by name, as generated summaries do not need it."""
        module = import_module("sumpool.inference.extraction")
        return cast(_SentenceExtractor, module.SentenceExtractor.load(self._folder, self._language))

    def extract(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        generated: Sequence[Generated],
        language: str = ENGLISH,
        target: LengthTarget | None = None,
        cause: str = "",
    ) -> Extraction:
        """Select the sentences of a document that agree most with the sampled summaries of its chunks.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            generated: What was generated for its chunks.
            language: Language of the document.
            target: Length of the summary; None selects as long as the agreement rises.
            cause: Why sentences must replace the generated text whatever the mode; empty if they need not.

        Returns:
            The sentences, all of them if a summary would not be shorter; none in mode abstractive, if mode auto keeps
            the generated text, or if no sentence shares a word with the samples.
        """
        if not generated or not (self.may_extract or cause):
            return NO_EXTRACTION
        extraction = self._extract(document, sentences, generated, language, target, is_forced=bool(cause))
        if cause and extraction.sentences and self._config.mode != "extractive":
            extraction = replace(extraction, cause=cause)
        if target or document.blocks or self._sentences.has_ranker:
            return extraction
        text = " ".join(part.text for part in generated)
        whole = self._sentences.whole_text(sentences, word_count(" ".join(extraction.sentences) or text))
        return whole if whole and whole.indices != extraction.indices else extraction

    def needs_search(self, document: Document, samples: Sequence[str]) -> bool:
        """Return whether the summary of a document that the model reads at once depends on the best hypothesis.

        With a ranker it does not if the document has a structure, whose sentences are preferred to generated text, or
        if the samples show that it is out of domain.
        """
        if not self.may_extract or not self._sentences.has_ranker:
            return True
        if document.blocks:
            return False
        return Agreement(samples, self._tokenize).score(_lead(document)) >= self._config.ood_threshold

    def extract_without_model(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        language: str,
        cause: str,
        target: LengthTarget | None = None,
    ) -> Extraction:
        """Select sentences of a document by its structure alone, for texts that the model has not learnt.

        Args:
            document: The document.
            sentences: Its sentences.
            language: Language of the document.
            cause: Why no model is used.
            target: Length of the summary; None takes the usual one.
        """
        extraction = self._sentences.extract(document, sentences, language, target)
        return replace(extraction, cause=join_causes(cause, extraction.cause))

    def _extract(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        generated: Sequence[Generated],
        language: str,
        target: LengthTarget | None,
        *,
        is_forced: bool,
    ) -> Extraction:
        config = self._config
        (summary,) = generated
        text, beginning = summary.text, _lead(document)
        samples = summary.samples or (text,)
        weights = summary.weights or (1.0,) * len(samples)
        agreement = Agreement(samples, self._tokenize, weights)
        lead_agreement = agreement.score(beginning)
        is_out_of_domain = lead_agreement < config.ood_threshold
        if document.blocks or self._sentences.has_ranker:
            texts = samples if document.blocks else (text,)
            words = None if is_out_of_domain else _words_of(texts)
            sampled = replace(summary, samples=tuple(samples), weights=tuple(weights))
            extraction = self._sentences.extract(document, sentences, language, target, words=words, sampled=sampled)
        else:
            if is_out_of_domain:
                added = [text, beginning, beginning] * -(-len(samples) // _SAMPLES_PER_LEAD)
                added_weights = [sum(weights) / len(weights)] * len(added)
                agreement = Agreement([*samples, *added], self._tokenize, [*weights, *added_weights])
            extraction = _select(candidate_sentences(document, sentences), agreement, target)
        is_whole = not target and bool(extraction.cause)
        if is_forced or config.mode == "extractive" or not extraction.sentences or is_whole:
            return extraction
        if is_out_of_domain:
            cause = f"agreement with the lead {lead_agreement:.2f} < {config.ood_threshold:.2f}"
            return replace(extraction, cause=cause)
        if document.blocks:  # generated text splices spans, which whole sentences of a document with structure need not
            return replace(extraction, cause="whole sentences are preferred")
        threshold = max(config.keep_threshold, agreement.score(" ".join(extraction.sentences)) + config.keep_margin)
        model_agreement = agreement.score(text) if summary.agreement is None else summary.agreement
        if model_agreement > threshold:
            return NO_EXTRACTION
        return replace(extraction, cause=f"agreement of the generated text {model_agreement:.2f} <= {threshold:.2f}")


def _lead(document: Document) -> str:
    return first_words(document.text, LEAD_WORDS)


def _words_of(generated: Sequence[str]) -> int:
    """Words of an extractive summary in place of generated texts, by their median."""
    sizes = sorted(len(text.split()) for text in generated)
    return max(_MIN_WORDS, min(sizes[len(sizes) // 2], _MAX_WORDS))


def _select(candidates: Sequence[tuple[int, str]], agreement: Agreement, target: LengthTarget | None) -> Extraction:
    # Imported by name, as generated summaries and other candidates do not need it.
    form = import_module("sumpool.ranking.candidate_form")
    candidates = form.whole_sentences(candidates, target)
    texts = [text for _, text in candidates]
    if target:
        select_length = import_module("sumpool.ranking.summary_length").select_length
        places: list[int] = select_length(agreement.compare(texts), texts, target)
    else:
        places = form.resolve(agreement.select(texts, MAX_SENTENCES), candidates)
    extraction = Extraction(tuple(texts[place] for place in places), tuple(candidates[place][0] for place in places))
    return import_module("sumpool.inference.extraction").with_fault(extraction, target) if target else extraction


def candidate_sentences(document: Document, sentences: Sequence[SourceSentence]) -> list[tuple[int, str]]:
    """Return index and text of the sentences that may be selected: the first, maybe the title, and all prose."""
    readable = [index for index in encoded_sentences(document, sentences) if sentences[index].kind != "heading"]
    texts = [sentences[index].text for index in readable]
    return [pair for place, pair in enumerate(zip(readable, texts, strict=True)) if place == 0 or is_prose(pair[1])]
