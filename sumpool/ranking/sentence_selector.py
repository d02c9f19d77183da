"""Selection of sentences for a summary by a ranker, with or without the help of summaries sampled from a model.

Where the ranker has learnt from reference summaries of such documents, the sentences are selected that together should
have the n-grams of a reference. Elsewhere they are those that readers prefer. Nothing here imports torch or nltk.

A topic or a question weighs preferences by similarity. Its words count by the inverse of their frequency among the
blocks of the document: in the sentence itself, in the headings that it stands under, in its paragraph, and by their
share of the sentences of its section. Words with one stem are the same, in languages other than English those with the
same first letters, as for the ranker; function words are none.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np

from sumpool.documents.document import Document, document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.features import sentence_features
from sumpool.ranking.ranker import FILE, ChoiceInputs, Ranker
from sumpool.ranking.selection import (
    MANY_HEADINGS,
    OVERRUN,
    ListedSection,
    adjust_length,
    contents_line,
    find_candidates,
    listed_sections,
    select,
    select_expected,
    table_of_contents,
    usual_words,
    without_label,
)
from sumpool.text.language import ENGLISH, content_prefixes, function_words, split_words, word_count
from sumpool.text.prose import PROSE_KINDS, ends_sentence, tidy_sentence, without_citations, without_connective
from sumpool.text.word_graph import Values

if TYPE_CHECKING:
    from sumpool.core.decoding.config import LengthTarget

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
_WORDS_OF_PART = 30
"""Words of a digest at least for each of its documents."""
_MIN_SIMILARITY = 0.5
"""Similarity to a topic or a question of a sentence at least, relative to the greatest."""
_TURN = 0.1
"""Loss of preference of a sentence for each better one of its group, where all have a turn."""
_FIRST_TURN = 1e-3
"""Weight of preferences among the best sentences of the documents of a digest."""
_MANY_WORDS = 100
"""Words of a summary at most where no length is asked for; that of a book has sentences of its chapters besides."""
_MAX_OVERLAP = 0.8
"""Share of the content words of a sentence of a digest at most that are in the selected ones."""
_IN_HEADING, _IN_PARAGRAPH, _IN_SECTION = 1.0, 0.3, 0.3
"""Weights beside a word in the sentence itself, 1. With them the section under a heading is found most often."""
_BASE: Final = 0.6
"""Preference that the least preferred sentence counts with: more follows the focus, less what readers prefer."""


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
        similarity: Similarity of the candidates to a topic or a question; None without.
        for_readers: Whether those are chosen that readers prefer, whatever references have: for a topic or a question,
            of a part of a document, or of several documents.
        groups: Group of each candidate, of which all have a turn, such as documents or sections; empty without.
    """

    document: Document
    sentences: Sequence[SourceSentence]
    language: str
    indices: Sequence[int]
    inputs: ChoiceInputs | None
    scores: Values
    similarity: Values | None = None
    for_readers: bool = False
    groups: Sequence[Hashable] = ()

    def part(self, rows: Sequence[int]) -> "Candidates":
        """Return some of the candidates, as readers prefer them."""
        kept = np.array(rows, np.int64)
        inputs = self.inputs and ChoiceInputs(tuple(table[kept] for table in self.inputs.tables), self.scores[kept])
        return replace(
            self,
            indices=[self.indices[row] for row in rows],
            inputs=inputs if len(rows) else None,
            scores=self.scores[kept],
            similarity=None if self.similarity is None else self.similarity[kept],
            for_readers=True,
            groups=[self.groups[row] for row in rows if self.groups],
        )


@final
class SentenceSelector:
    """Selects the sentences of summaries.

    Attributes:
        ranker: The ranker, which has learnt from reference summaries.
        readers: Ranker that has learnt from marks of readers, often the same.
    """

    def __init__(self, ranker: Ranker, readers: Ranker | None = None) -> None:
        self.ranker = ranker
        self.readers = readers or ranker

    @classmethod
    def load(cls, folder: Path, shipped: Path) -> "SentenceSelector":
        """Load the ranker of a run folder; where it has none, or none with marks, that of the shipped folder serves.

        What the model of a run without a ranker has learnt is not known to the shipped one.

        Args:
            folder: The run folder.
            shipped: The shipped folder.

        Raises:
            CheckpointError: If a ranker is damaged or of another version.
        """
        ranker = Ranker.load(folder) if (folder / FILE).is_file() else replace(Ranker.load(shipped), domain=None)
        return cls(ranker, ranker if ranker.choice else Ranker.load(shipped))

    def candidates(
        self, document: Document, sentences: Sequence[SourceSentence], language: str, focus: str = ""
    ) -> Candidates:
        """Compute the features of the candidates of a document, and their scores; of a digest part by part.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            language: Code of its language.
            focus: Topic or question that the candidates are compared with; empty for none.
        """
        if document.parts:
            ends = np.cumsum([sum(sentence.document == part.id for sentence in sentences) for part in document.parts])
            return _joined(
                [
                    self.candidates(
                        replace(document, title=part.title, parts=()), sentences[start:end], language, focus
                    )
                    for part, start, end in zip(document.parts, [0, *ends], ends, strict=False)
                ],
                document,
                sentences,
            )
        indices = find_candidates(sentences)
        features = sentence_features(sentences, indices, document_title(document), language)
        inputs = self.readers.inputs(features) if indices else None
        scores = inputs.scores if inputs and self.readers is self.ranker else self.ranker.score(features)
        similarity = focus_similarity(document, sentences, focus, language)[indices] if focus else None
        return Candidates(document, sentences, language, indices, inputs, scores, similarity, bool(focus))

    def is_in_domain(self, candidates: Candidates) -> bool:
        """Return whether sampled summaries may change the choice: the model has learnt such documents."""
        inputs = candidates.inputs  # a model is used for documents like its own
        return inputs is not None and not candidates.for_readers and self.ranker.is_in_domain(inputs) is not False

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
        document = candidates.document
        usual = 0 if target else max(usual_words(word_count(document.text)), _WORDS_OF_PART * len(document.parts))
        is_book = usual > _MANY_WORDS and not candidates.for_readers
        budget = target.words if target else words or (_MANY_WORDS if is_book else usual)
        similarity = candidates.similarity
        if not target and similarity is not None and similarity.any():  # rather fewer words than other sentences
            candidates = candidates.part(np.flatnonzero(similarity >= _MIN_SIMILARITY * similarity.max()).tolist())
        if candidates.inputs is None:
            return _lead(candidates.sentences, budget)
        chosen, headings = self._choose(candidates, candidates.inputs, budget, samples if words else None, target)
        selected = {candidates.indices[row]: self._text(candidates, candidates.indices[row]) for row in sorted(chosen)}
        if is_book and not headings:
            selected = self._with_chapters(candidates, selected, usual - _MANY_WORDS)
        for index, text in selected.items():
            if index - 1 not in selected:
                selected[index] = without_connective(text, candidates.language)
        return [*selected.items(), *contents_line(headings, candidates.language)]

    def _choose(
        self,
        candidates: Candidates,
        inputs: ChoiceInputs,
        budget: int,
        samples: Sequence[str] | None,
        target: "LengthTarget | None",
    ) -> tuple[list[int], list[tuple[int, str]]]:
        """Choose candidates, and headings behind them; samples are None where no model has read the document."""
        document, sentences, language = candidates.document, candidates.sentences, candidates.language
        texts = [self._text(candidates, index) for index in candidates.indices]
        choice = self.readers.predict_choice(inputs)
        preferences = _adapted(texts, choice.combine(candidates.scores), candidates)
        most_overlap = _MAX_OVERLAP if document.parts else 1.0
        wanted: list[int] = np.flatnonzero(preferences >= _WANTED * preferences.max()).tolist()
        if target and sum(word_count(texts[row]) for row in wanted) < 2 * budget:
            wanted = np.flatnonzero(preferences > -np.inf).tolist()  # all but repeats
        if document.parts and target:  # what fills the length must not repeat what another document says
            wanted_texts = [texts[row] for row in wanted]
            distinct = select(wanted_texts, preferences[wanted], 2 * budget, language, most_overlap=most_overlap)
            wanted = [wanted[index] for index in sorted(distinct)]
        wanted_texts = [texts[row] for row in wanted]
        chosen: list[int] = []
        headings: list[tuple[int, str]] = []
        if self.is_in_domain(candidates):
            length = None if samples and not target else _EXPECTED * budget
            scores = (candidates.scores - _COSTS * choice.costs)[wanted]
            rows = select_expected(wanted_texts, scores, samples or (), length=length, language=language)
            chosen = [wanted[index] for index in rows]
        if not chosen and target:
            words_left = math.ceil(budget / OVERRUN)  # so that summaries are as long as asked for, not a tenth longer
            rows = select(wanted_texts, preferences[wanted], words_left, language, most_overlap=most_overlap)
            chosen = [wanted[index] for index in rows]
        elif not chosen:  # few sentences rather than some that are not worth their words
            if not candidates.for_readers and (choice.preference - choice.costs).max() <= _MAX_UNWANTED:
                has_content = np.flatnonzero(choice.junk < _JUNK).tolist()
                by_index = {candidates.indices[row]: float(preferences[row]) for row in has_content}
                headings = table_of_contents(document, sentences, by_index, self.readers.common_headings, language)
            words_left = budget if len(headings) < MANY_HEADINGS else 1  # the best sentence alone
            minimum = _MIN_FURTHER * float(preferences.max())
            chosen = select(texts, preferences, words_left, language, most_overlap=most_overlap, minimum=minimum)
        if target:
            indices = [wanted.index(row) for row in chosen]
            chosen = [wanted[index] for index in adjust_length(indices, wanted_texts, preferences[wanted], target)]
        return chosen, headings

    def of_section(self, candidates: Candidates, section: ListedSection) -> Candidates:
        """Return the candidates of a section by its own features, as of a document whose title is its heading."""
        sentences, start = candidates.sentences, section.heading + 1
        document = replace(candidates.document, title=sentences[section.heading].text, parts=())
        part = self.candidates(document, sentences[start : section.end], candidates.language)
        return replace(part, sentences=sentences, indices=[start + index for index in part.indices], for_readers=True)

    def _with_chapters(self, candidates: Candidates, selected: Mapping[int, str], words: int) -> dict[int, str]:
        """Return selected sentences of a book with the best ones of other chapters, as many as have so many words."""
        best: dict[int, float] = {}
        sections = listed_sections(candidates.document, candidates.sentences)
        shortest = candidates.sentences[-1].end / max(len(sections), 1) / 2  # shorter ones are licences and the like
        for section in sections:
            size = candidates.sentences[section.end - 1].end - candidates.sentences[section.heading].start
            is_covered = any(section.heading < index < section.end for index in selected)
            if size < shortest or is_covered:
                continue
            part = self.of_section(candidates, section)
            if part.inputs:
                values = self.readers.predict_choice(part.inputs).combine(part.scores)
                best[part.indices[int(values.argmax())]] = float(values.max())
        texts = {index: self._text(candidates, index) for index in best}
        texts = {index: text for index, text in texts.items() if ends_sentence(text)}
        values = np.array([best[index] for index in texts])
        minimum = _MIN_FURTHER * values.max(initial=0.0)
        rows = select(list(texts.values()), values, words, candidates.language, minimum=minimum)
        return dict(sorted([*selected.items(), *(list(texts.items())[row] for row in rows)]))

    def _text(self, candidates: Candidates, index: int) -> str:
        """Return the text that a sentence has in a summary."""
        text = without_citations(tidy_sentence(candidates.sentences[index].text), candidates.language)
        return without_label(text, self.readers.common_headings, candidates.language)


def _adapted(texts: Sequence[str], preferences: Values, candidates: Candidates) -> Values:
    """Return preferences by the focus, lower for each further candidate of a group, so that all have a turn.

    All candidates of one text but the best have minus infinity.
    """
    similarity = candidates.similarity
    if similarity is not None and similarity.any():
        least, best = preferences.min(), preferences.max()
        factors = (preferences - least + _BASE) / (best - least + _BASE)
        # those of sentences that share no word come last
        preferences = np.where(similarity > 0, factors * similarity / similarity.max(), preferences - best)
    turns: Counter[Hashable] = Counter()
    adapted = preferences.copy()
    for row in np.argsort(-preferences, kind="stable").tolist() if candidates.groups else ():
        group = candidates.groups[row]
        if candidates.document.parts and similarity is None and not turns[group]:
            adapted[row] = preferences.max() + _FIRST_TURN * preferences[row]  # of each document before all others
        else:
            adapted[row] -= min(_TURN * turns[group], 1.0)
        turns[group] += 1
    seen: set[str] = set()
    for row in np.argsort(-adapted, kind="stable").tolist():
        if texts[row] in seen:
            adapted[row] = -np.inf
        seen.add(texts[row])
    return adapted


def _joined(parts: Sequence[Candidates], document: Document, sentences: Sequence[SourceSentence]) -> Candidates:
    """Return the candidates of all parts of a document."""
    starts = np.cumsum([0, *(len(part.sentences) for part in parts)]).tolist()
    indices = [start + index for start, part in zip(starts, parts, strict=False) for index in part.indices]
    scores = np.concatenate([part.scores for part in parts])
    inputs = [part.inputs for part in parts if part.inputs]
    tables = tuple(np.concatenate(tables) for tables in zip(*(part.tables for part in inputs), strict=True))
    similarities = [part.similarity for part in parts if part.similarity is not None]
    joined = Candidates(
        document,
        sentences,
        parts[0].language,
        indices,
        ChoiceInputs(tables, scores) if inputs else None,
        scores,
        np.concatenate(similarities) if similarities else None,
        groups=[number for number, part in enumerate(parts) for _ in part.indices],
    )
    first = {sentences[index].text: row for row, index in reversed(list(enumerate(indices)))}  # of equal sentences
    return joined.part(sorted(first.values()))


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


def focus_similarity(document: Document, sentences: Sequence[SourceSentence], focus: str, language: str) -> Values:
    """Return the similarity of each sentence to a topic or a question, (sentences,); 0 where no word is shared.

    Args:
        document: The document.
        sentences: Its sentences.
        focus: The topic or question.
        language: Code of the language of the document.
    """
    column = {word: index for index, word in enumerate(sorted(_content(focus, language)))}
    occurs = np.zeros((len(sentences), len(column)))
    for row, sentence in enumerate(sentences):
        occurs[row, [column[word] for word in _content(sentence.text, language) & column.keys()]] = 1.0
    around = np.zeros_like(occurs)
    frequency = np.zeros(len(column))
    blocks, start = 1, 0
    open_headings: list[tuple[int, int]] = []  # level and row of those that a sentence stands under
    for _, group in groupby(range(len(sentences)), key=lambda row: sentences[row].block):
        rows = list(group)
        first = sentences[rows[0]]
        if first.kind == "heading":
            around[start : rows[0]] += _IN_SECTION * _share(occurs[start : rows[0]])
            start = rows[-1] + 1
            level = document.blocks[first.block].level if document.blocks else 1
            open_headings = [heading for heading in open_headings if heading[0] < level] + [(level, rows[0])]
        else:
            blocks += 1
            frequency += occurs[rows].max(axis=0)
            around[rows] += _IN_PARAGRAPH * occurs[rows].max(axis=0)
        if open_headings:
            around[rows] += _IN_HEADING * occurs[[row for _, row in open_headings]].max(axis=0)
    around[start:] += _IN_SECTION * _share(occurs[start:])
    weights = np.log1p(blocks / np.maximum(frequency, 1))
    return np.asarray((occurs + around) @ weights / max(weights[occurs.any(axis=0)].sum(), 1e-9))


def _content(text: str, language: str) -> set[str]:
    if language != ENGLISH:
        return set(content_prefixes(split_words(text, language), language))
    from sumpool.evaluation.rouge import stem  # few summaries have a focus

    left_out = function_words(language)
    return {stem(word) for word in split_words(text) if len(word) > 1 and word not in left_out}


def _share(occurs: Values) -> Values:
    """Return a value for each word that grows with the share of the sentences of a section that have it."""
    return np.asarray(np.sqrt(occurs.mean(axis=0))) if len(occurs) else np.zeros(occurs.shape[1])
