"""Selection of sentences for a summary by a ranker, with or without the help of summaries sampled from a model.

Where the ranker has learnt from reference summaries of such documents, the sentences are selected that together should
have the n-grams of a reference. Elsewhere they are those that readers prefer. Nothing here imports torch or nltk.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from sumpool.documents.document import Document, document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.features import sentence_features
from sumpool.ranking.ranker import FILE, ChoiceInputs, Ranker, Values
from sumpool.ranking.selection import OVERRUN, adjust_length, find_candidates, select, usual_words
from sumpool.ranking.table_of_contents import MANY_HEADINGS, contents_line, table_of_contents, without_label
from sumpool.text.language import ENGLISH, UNDETECTED, word_count
from sumpool.text.prose import PROSE_KINDS, tidy_sentence, without_citations, without_connective

if TYPE_CHECKING:
    from sumpool.core.decoding.config import LengthTarget
    from sumpool.ranking.sentence_states import SentenceStates

_MAX_WORDS = 100
"""Words of a summary at most where no length is asked for: further sentences of a book are details."""
_EXPECTED = 0.8
"""Words of the reference that is expected, relative to those asked for or, without samples, to the usual ones."""
_COSTS = 0.5
"""Costs to readers of a sentence that references would have: as much as costs no ROUGE."""
_WANTED = 0.2
"""Preference, relative to the first, of a sentence that references would have, or that may fill up a summary to the
length that is asked for."""
_JUNK = 0.5
"""Probability of having no content, from which on a sentence does not count as the content of its section."""
_MAX_UNWANTED = 0.35
"""Preference less costs of the best sentence at most where contents follow: none says what the document is about."""
_MIN_FURTHER = 0.45
"""Preference of a further sentence, relative to the first, once half of the words are selected."""


@dataclass(frozen=True)
class Candidates:
    """Sentences of a document that its summary may consist of, with what the rankers say about them.

    Attributes:
        document: The document.
        sentences: Its sentences.
        language: Code of its language.
        indices: Index of each candidate among the sentences.
        inputs: Their features as the ranker of the readers reads them; None without a candidate.
        scores: Scores of the candidates by structure.
    """

    document: Document
    sentences: Sequence[SourceSentence]
    language: str
    indices: Sequence[int]
    inputs: ChoiceInputs | None
    scores: Values


@final
class SentenceSelector:
    """Selects the sentences of summaries.

    Attributes:
        ranker: The ranker, which has learnt from reference summaries.
        readers: Ranker that has learnt from marks of readers, often the same.
        states: Language model that reads the sentences; None without.
    """

    def __init__(self, ranker: Ranker, readers: Ranker | None = None, states: "SentenceStates | None" = None) -> None:
        self.ranker = ranker
        self.states = states
        self.readers = readers or ranker

    @classmethod
    def load(cls, folder: Path, shipped: Path, scorer: Path | None = None) -> "SentenceSelector":
        """Load the ranker of a run folder; where it has none, or none with marks, that of the shipped folder serves.

        What the model of a run without a ranker has learnt is not known to the shipped one.

        Args:
            folder: The run folder.
            shipped: The shipped folder.
            scorer: File of a language model that reads the sentences, see `SentenceStates`; None without.

        Raises:
            CheckpointError: If a ranker is damaged or of another version.
            DataError: If the scorer is damaged, or another model.
        """
        ranker = Ranker.load(folder) if (folder / FILE).is_file() else replace(Ranker.load(shipped), domain=None)
        states = None
        if scorer:
            # Imported here, as few have a scorer.
            from sumpool.ranking.sentence_states import SentenceStates

            states = SentenceStates(scorer)
        return cls(ranker, ranker if ranker.choice else Ranker.load(shipped), states)

    def candidates(self, document: Document, sentences: Sequence[SourceSentence], language: str) -> Candidates:
        """Compute the features of the candidates of a document, and their scores.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            language: Code of its language.
        """
        indices = find_candidates(sentences)
        features = sentence_features(sentences, indices, document_title(document), language)
        inputs = self.readers.inputs(features) if indices else None
        scores = inputs.scores if inputs and self.readers is self.ranker else self.ranker.score(features)
        return Candidates(document, sentences, language, indices, inputs, scores)

    def is_in_domain(self, candidates: Candidates) -> bool:
        """Return whether sampled summaries may change the choice: the model has learnt such documents."""
        inputs = candidates.inputs  # a model is used for documents like its own
        return inputs is not None and self.ranker.is_in_domain(inputs) is not False

    def select(
        self,
        candidates: Candidates,
        *,
        words: int | None = None,
        samples: Sequence[str] = (),
        target: "LengthTarget | None" = None,
    ) -> list[tuple[int, str]]:
        """Select the sentences of a summary.

        Args:
            candidates: Candidates of the document.
            words: Words of the summary, by a model that has learnt such documents; None takes the usual ones of a
                document of this length.
            samples: Summaries sampled from a model; they count in the domain of the ranker.
            target: Length of the summary in place of `words`; None if there is none.

        Returns:
            Index and text of each selected sentence, in order: whole sentences of prose, and headings behind them where
            no sentence says what the document is about; the beginning of a document that has no prose.
        """
        document, sentences, language = candidates.document, candidates.sentences, candidates.language
        budget = target.words if target else min(words or usual_words(word_count(document.text)), _MAX_WORDS)
        if candidates.inputs is None:
            return _lead(sentences, budget)
        tidy = [without_citations(tidy_sentence(sentences[index].text), language) for index in candidates.indices]
        texts = [without_label(text, self.readers.common_headings, language) for text in tidy]
        is_like_references, states = self.is_in_domain(candidates), None
        if self.states and not is_like_references and language in (ENGLISH, UNDETECTED):  # what it has learnt
            states = self.states.read(document, sentences)[list(candidates.indices)]
        choice = self.readers.predict_choice(candidates.inputs, states)
        preferences = choice.combine(candidates.scores)
        wanted = _wanted(texts, preferences, 2 * budget if target else 0)
        wanted_texts = [texts[row] for row in wanted]
        chosen: list[int] = []
        headings: list[tuple[int, str]] = []
        if is_like_references:
            # Imported here, as other documents do not need the tokenizer of ROUGE.
            from sumpool.ranking.expected_ngrams import select_texts

            length = None if words and samples and not target else _EXPECTED * budget
            scores = (candidates.scores - _COSTS * choice.costs)[wanted]
            chosen = [wanted[index] for index in select_texts(wanted_texts, scores, samples, length=length)]
        if not chosen and target:
            words_left = math.ceil(budget / OVERRUN)  # so that summaries are as long as asked for, not a tenth longer
            chosen = [wanted[index] for index in select(wanted_texts, preferences[wanted], words_left, language)]
        elif not chosen:  # few sentences rather than some that are not worth their words
            if (choice.preference - choice.costs).max() <= _MAX_UNWANTED:
                has_content = np.flatnonzero(choice.junk < _JUNK).tolist()
                by_index = {candidates.indices[row]: float(preferences[row]) for row in has_content}
                headings = table_of_contents(document, sentences, by_index, self.readers.common_headings, language)
            words_left = budget if len(headings) < MANY_HEADINGS else 1  # the best sentence alone
            minimum = _MIN_FURTHER * float(preferences.max())
            chosen = select(texts, preferences, words_left, language, minimum=minimum)
        if target:
            indices = [wanted.index(row) for row in chosen]
            chosen = [wanted[index] for index in adjust_length(indices, wanted_texts, preferences[wanted], target)]
        selected = {candidates.indices[row]: texts[row] for row in sorted(chosen)}
        for index, text in selected.items():
            if index - 1 not in selected:
                selected[index] = without_connective(text, language)
        return [*selected.items(), *contents_line(headings, language)]


def _wanted(texts: Sequence[str], preferences: Values, words: int) -> list[int]:
    """Return the sentences that a reader wants, or all if those have too few words."""
    wanted: list[int] = np.flatnonzero(preferences >= _WANTED * preferences.max()).tolist()
    return wanted if sum(word_count(texts[index]) for index in wanted) >= words else list(range(len(texts)))


def _lead(sentences: Sequence[SourceSentence], words: int) -> list[tuple[int, str]]:
    """Return the first sentences until there are enough words, at least one."""
    prose = [index for index, sentence in enumerate(sentences) if sentence.kind in PROSE_KINDS]
    titles = [index for index, sentence in enumerate(sentences) if sentence.kind == "heading"][:1]
    indices: list[int] = []
    size = 0
    for index in prose or titles or range(len(sentences)):
        size += word_count(sentences[index].text)
        if indices and size > words:
            break
        indices.append(index)
    return [(index, sentences[index].text) for index in indices]
