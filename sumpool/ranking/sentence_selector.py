"""Selection of sentences for a summary by a ranker, with or without the help of summaries sampled from a model.

Files with structure are chosen from by trees that have learnt from marks of readers, where the ranker has them, in any
language. Licences, lists of changes, other texts in languages that the ranker has not learnt, and all texts where there
is no ranker, are ranked by rules, see `sentence_ranking`. Nothing here imports torch or nltk.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.agreement_features import AGREEMENT_FEATURES, agreement_features
from sumpool.ranking.candidate_form import resolve, whole_sentences, without_label
from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.genres import Genre, document_genre, document_title, file_stem, sentence_texts
from sumpool.ranking.questions import with_question
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.ranking.selection import fill_budget, prose_candidates, select, summary_candidates
from sumpool.ranking.sentence_ranking import MIN_SCORE, Scores, rank
from sumpool.ranking.sentence_ranking import select as select_ranked
from sumpool.ranking.summary_length import adjust_length, usual_words
from sumpool.ranking.word_features import content_prefixes, split_words
from sumpool.text.language import ENGLISH, UNDETECTED, word_count
from sumpool.text.notices import is_notice
from sumpool.text.prose import PROSE_KINDS, tidy_sentence

_MIN_WORDS = 7
"""Words of a sentence that the ranker selects, at least."""
_ABSTRACT_HEADING = re.compile(r"abstract|executive summary|zusammenfassung|kurzfassung|r\u00e9sum\u00e9|resumen", re.I)
_ABSTRACT = re.compile(r"Abstract\b|ABSTRACT\b")
"""Start of the paragraph of an abstract."""
_LISTS = ("licence", "changelog")
"""Genres that rules rank alone."""
_LICENCE_WORDS, _MAX_WORDS = 130, 100
"""Words of the summary of a licence, which has grants and conditions, at least, and of other documents with blocks at
most: further sentences of a book are details."""
_ABSTRACT_SCORE, _ABSTRACT_START = 3.0, 2.0
"""Score of the sentences of an abstract where rules rank too, and of its first."""
_EXPECTED = 0.8
"""Words of the reference that is expected of a document without structure, relative to the usual ones."""
_REPEATED = 0.2
"""Cost of a sentence whose content words are all in the selected ones, on the scale of marks."""
_WANTED = 0.1
"""Preference of a sentence that may fill up a summary to the length that is asked for, relative to the first."""
_WORTH = 0.45
"""Preference of a further sentence, relative to the first, once half of the words are selected."""
_ENOUGH = 2.0
"""Words of longer sentences, relative to those of a summary, that make short ones unnecessary."""


class SampledSummaries(Protocol):
    """Summaries of a document that a model has written and sampled."""

    @property
    def text(self) -> str:
        """The summary with the highest probability."""

    @property
    def samples(self) -> tuple[str, ...]:
        """The samples, at least one."""

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the samples; empty if they are equal."""


@final
class SentenceSelector:
    """Selects the sentences of summaries.

    Attributes:
        ranker: The ranker; None ranks by rules.
        language: Language that the ranker has learnt.
    """

    def __init__(self, ranker: Ranker | None = None, language: str = ENGLISH) -> None:
        self.ranker = ranker
        self.language = language

    @classmethod
    def load(cls, folder: Path, language: str = ENGLISH) -> "SentenceSelector":
        """Load the ranker of a run folder; a folder without one ranks by rules.

        Raises:
            CheckpointError: If the ranker is damaged or of another version.
        """
        return cls(Ranker.load(folder) if (folder / FILE).is_file() else None, language)

    def select(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        language: str,
        words: int | None = None,
        sampled: SampledSummaries | None = None,
        target: LengthTarget | None = None,
    ) -> list[tuple[int, str]]:
        """Select the sentences of a summary.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            language: Code of its language.
            words: Words of the summary, by a model that has learnt such documents; None takes the usual ones of a
                document of this length.
            sampled: Summaries sampled from a model; None if there are none. With a ranker and without `words`, they
                count in texts without structure only.
            target: Length of the summary in place of `words`; None if there is none.

        Returns:
            Index and text of each selected sentence, in order: whole sentences of prose, or the beginning of a document
            that has none.
        """
        genre = document_genre(document)
        if document.blocks and genre not in _LISTS and self.ranker and self.ranker.choice:
            usual = _word_budget(words or usual_words(word_count(document.text)), document, genre)
            return _choose(self.ranker, document, sentences, language, usual, target) or _lead(sentences, usual)
        candidates = summary_candidates(document, sentences, language, genre)
        is_plain = not document.blocks and not genre and not any(item.section_index for item in candidates)
        if is_plain:
            candidates = _whole(candidates, target, language)
        has_free_length = is_plain and not target
        compared = sampled if words or self.ranker is None else None
        usual = words or usual_words(word_count(document.text))
        expected = None if words and sampled else _EXPECTED * usual
        words = target.words if target else _word_budget(usual, document, genre)
        if not candidates:
            return _lead(sentences, words)
        ranker = None if genre in _LISTS or language not in (self.language, UNDETECTED) else self.ranker
        if ranker is None or document.blocks:
            learnt = None if ranker is None else ranker.score(_features(document, sentences, candidates, language))
            scores = _rank_by_rules(document, candidates, language, genre, compared, learnt)
            abstract = _in_abstract(candidates, sentences)
            scores += _ABSTRACT_SCORE * abstract + _ABSTRACT_START * (abstract & (np.cumsum(abstract) == 1))
            if genre == "questions" and not (target and target.in_sentences):
                candidates = list(map(with_question, candidates))
            chosen = select_ranked(candidates, scores, language, words, MIN_SCORE, is_list=bool(genre))
            best_first = sorted(chosen, key=lambda place: -scores[place])
        else:
            features = _features(document, sentences, candidates, language)
            agreement = None if compared is None or has_free_length else _agreement(candidates, compared)
            scores = ranker.score(replace(features, agreement=agreement))
            scores += np.ptp(scores) * _in_abstract(candidates, sentences)
            allowed = _without_short(candidates, scores, words) if expected or not has_free_length else scores
            best_first = _select_expected(candidates, allowed, sampled, expected) if has_free_length else []
            best_first = best_first or select(candidates, allowed, words, language)
        places = sorted(best_first)
        if has_free_length:
            places = resolve(best_first, [(item.index, item.text) for item in candidates], language)
        if target:
            places = adjust_length(best_first, [candidate.text for candidate in candidates], scores, target)
        return sentence_texts([candidates[place] for place in places], genre)

    def rank_prose(self, document: Document, sentences: Sequence[SourceSentence], language: str) -> dict[int, float]:
        """Score all sentences of prose of a document, by their index; empty without a ranker for its language."""
        if self.ranker is None or language not in (self.language, UNDETECTED):
            return {}
        candidates = prose_candidates(sentences)
        scores = self.ranker.score(_features(document, sentences, candidates, language))
        return {item.index: score for item, score in zip(candidates, scores.tolist(), strict=True)}


def _choose(
    ranker: Ranker,
    document: Document,
    sentences: Sequence[SourceSentence],
    language: str,
    words: int,
    target: LengthTarget | None,
) -> list[tuple[int, str]]:
    """Select sentences that readers prefer; few of them rather than some that are not worth their words."""
    candidates = [
        replace(item, text=without_label(tidy_sentence(item.text), item.place)) for item in prose_candidates(sentences)
    ]
    if not candidates:
        return []
    scores = ranker.preferences(_features(document, sentences, candidates, language))
    wanted = np.flatnonzero(scores >= _WANTED * scores.max())
    if target and sum(word_count(candidates[place].text) for place in wanted) >= 2 * target.words:
        candidates, scores = [candidates[place] for place in wanted], scores[wanted]
    chosen = fill_budget(
        candidates,
        scores,
        lambda text: content_prefixes(split_words(text, language), language),
        target.words if target else words,
        redundancy=_REPEATED,
        minimum=-math.inf if target else _WORTH * float(scores.max()),
    )
    texts = [candidate.text for candidate in candidates]
    places = adjust_length(chosen, texts, scores, target) if target else sorted(chosen)
    return [(candidates[place].index, texts[place]) for place in places]


def _word_budget(words: int, document: Document, genre: Genre) -> int:
    """Return the words of a summary where no length is asked for."""
    if genre == "licence":
        return max(words, _LICENCE_WORDS)
    return min(words, _MAX_WORDS) if document.blocks else words


def _features(
    document: Document, sentences: Sequence[SourceSentence], candidates: Sequence[CandidateSentence], language: str
) -> SentenceFeatures:
    return sentence_features(sentences, candidates, document_title(document), language)


def _whole(
    candidates: Sequence[CandidateSentence], target: LengthTarget | None, language: str
) -> list[CandidateSentence]:
    """Return the candidates of a text without structure that are whole sentences, without list marks."""
    by_index = {item.index: item for item in candidates}
    whole = whole_sentences([(item.index, item.text) for item in candidates], target, language)
    return [replace(by_index[index], text=text) for index, text in whole]


def _in_abstract(candidates: Sequence[CandidateSentence], sentences: Sequence[SourceSentence]) -> NDArray[np.bool_]:
    """Return whether each candidate is in an abstract of the authors, which the ranker has never seen in a document."""
    blocks = {sentence.block: sentence.text for sentence in reversed(sentences)}
    return np.array(
        [
            bool(_ABSTRACT_HEADING.fullmatch(item.section) or _ABSTRACT.match(blocks[sentences[item.index].block]))
            for item in candidates
        ]
    )


def _select_expected(
    candidates: Sequence[CandidateSentence], scores: Scores, sampled: SampledSummaries | None, length: float | None
) -> list[int]:
    """Select candidates by the n-grams that a reference of so many words, or of those of the samples, should have."""
    select_texts = import_module("sumpool.ranking.expected_ngrams").select_texts
    samples, weights = (sampled.samples, sampled.weights) if sampled else ((), ())
    places = np.flatnonzero(scores > -np.inf).tolist()
    texts = [candidates[place].text for place in places]
    return [places[index] for index in select_texts(texts, scores[places], samples, weights, length=length)]


def _rank_by_rules(
    document: Document,
    candidates: Sequence[CandidateSentence],
    language: str,
    genre: Genre,
    sampled: SampledSummaries | None,
    learnt: Scores | None = None,
) -> Scores:
    title = f"{document_title(document)} {file_stem(document)}"
    agreement = None
    if sampled:
        columns = [AGREEMENT_FEATURES.index(name) for name in ("unigram_f1", "bigram_f1")]
        agreement = _agreement(candidates, sampled)[:, columns].sum(axis=1).astype(np.float64)
    return rank(candidates, title, language, genre=genre, learnt=learnt, agreement=agreement)


def _agreement(candidates: Sequence[CandidateSentence], sampled: SampledSummaries) -> NDArray[np.float32]:
    texts = [candidate.text for candidate in candidates]
    return agreement_features(texts, sampled.samples, sampled.text, sampled.weights or None)


def _without_short(candidates: Sequence[CandidateSentence], scores: Scores, words: int) -> Scores:
    """Rule out short sentences, which are often fragments, where the others are twice as many words as asked for."""
    sizes = np.array([word_count(candidate.text) for candidate in candidates])
    is_kept = (sizes >= _MIN_WORDS) | [candidate.is_name_line for candidate in candidates]
    return np.where(is_kept, scores, -np.inf) if sizes[is_kept].sum() >= _ENOUGH * words else scores


def _lead(sentences: Sequence[SourceSentence], words: int) -> list[tuple[int, str]]:
    """Return the first sentences until there are enough words, at least one."""
    prose = [
        index
        for index, sentence in enumerate(sentences)
        if sentence.kind in PROSE_KINDS and not is_notice(sentence.text)
    ]
    indices: list[int] = []
    size = 0
    titles = [index for index, sentence in enumerate(sentences) if sentence.kind == "heading"][:1]
    for index in prose or titles or range(len(sentences)):
        size += word_count(sentences[index].text)
        if indices and size > words:
            break
        indices.append(index)
    return [(index, sentences[index].text) for index in indices]
