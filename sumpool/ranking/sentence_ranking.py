"""Ranking of the sentences of a document by rules, and their selection within a budget of words.

The score of a sentence adds its centrality (LexRank over the whole document, and over its beginning and end alone), its
position, the words that it shares with title and headings, cues ("this manual describes ...") and, if there are any,
the scores of a trained ranker and its agreement with summaries sampled from a model. Sentences that depend on the
text around them are ranked lower. The weights were chosen by hand on documents of Debian packages other than those of
docs/real-documents.md.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.genres import Genre
from sumpool.ranking.openings import refers_to_document
from sumpool.ranking.outline import heading_is
from sumpool.ranking.selection import fill_budget, unit_of
from sumpool.text.language import ENGLISH, languages, word_count
from sumpool.text.references import lacks_subject
from sumpool.text.word_graph import SentenceWords, WordGraph
from sumpool.text.words import ContentWords

Scores = NDArray[np.float64]
"""A value for each candidate, (candidates,)."""

_CENTRALITY, _FRAME_CENTRALITY, _AGREEMENT, _LEARNT = 0.5, 0.6, 0.4, 1.2
_LEAD, _LEAD_OF_LICENCE, _LEAD_SENTENCES = 2.5, 1.0, 5.0
"""Weight of the lead, which declines with the number of sentences before."""
_EARLY, _EARLY_SHARE = 1.5, 0.15
"""Weight of an early sentence, which declines with the share of the document before it."""
_TITLE, _SECTION, _HEADINGS, _GRANT, _TERMS, _DUTY = 1.5, 0.6, 0.3, 1.5, 0.7, 1.0
_INTRODUCTION, _DETAILS, _CUE, _SUBJECT, _DEFINITION, _NAME_LINE = 1.0, -0.8, 2.0, 0.6, 2.0, 4.0
_FIRST_OF_SECTION, _NAMED_SECTION, _FIRST_OF_BLOCK, _LIST_ITEM = 0.5, 3.0, 0.2, -0.5
_FRAME_START, _FRAME_END = 0.3, 0.08
"""Shares of the document that are its beginning and end."""
_COPULA = re.compile(
    r"((?:\S+ ){1,5}?)(?:is|are|ist|sind|est|es|son) (?:an?|the|one|ein\w*|d[ae][rs]|die|une?|l[ae]|los|el|las)\b"
    r"|((?:\S+ ){1,5}?)(?:\u2014|\u044d\u0442\u043e|\u044f\u0432\u043b\u044f\w+) |(.{1,14}?)(?:\u662f|\u306f)",
    re.IGNORECASE,
)
"""Subject and copula of a definition in English, German, French, Spanish, Russian, Chinese or Japanese."""
_ANSWER = 4.0
"""Weight of the answer that says what the subject of a list of questions is."""
_WHAT_IS = re.compile(r"(?:Q[:.] )?(?:what (?:is|are)|what's|was (?:ist|sind)|qu'est|qu\u00e9 es)\b", re.IGNORECASE)
"""Start of a question whose answer is a definition."""
_GRANTED = re.compile(r"\b(?:grants?|permission|permitted|free to|right to)\b", re.IGNORECASE)
_TERM = re.compile(r"\b(?:may|must|provided that|warrant\w+|liable|liability|purpose of)\b", re.IGNORECASE)
_MUST = re.compile(r"\b(?:must|shall not|may not|provided that)\b", re.IGNORECASE)
_ABOUT_TERMS = re.compile(
    r"\b(?:means?|refers? to|shall mean)\b|^for the purposes? of this|\bas used (?:herein|in this)\b"
    r"|^licensed under\b|copies of this licen[sc]e document|\b(?:revised|new) versions? of (?:the|this)\b"
    r"|\bnothing (?:herein|in this)\b",
    re.IGNORECASE,
)
"""Definitions of a licence, and terms for the licence itself."""
_IDEAL_WORDS = range(10, 36)
_REDUNDANCY, _OVERRUN = 4.0, 1.2
"""Penalty of a sentence whose content words are all in the selected ones; words at most, relative to the budget."""
_PROSE_GENRES = ("", "questions")
MIN_SCORE = 2.5
"""Score of a sentence that is worth its words."""
_PRINCIPAL, _LEAST_SHARE = 6.0, 0.5
"""Score of a sentence that says what its document is, and score of another beside it at least, relative to it."""
_ASIDES = re.compile(r"[(\[\u2014\uff08]| - |\be\.g\.|\bi\.e\.|\bz\. ?B\.|\bfor example\b|\bfor instance\b", re.I)
_REFERENCE = re.compile(
    r"(?<=\w )(?:this|these|those|such|above|below|following|previous|here|[Aa]ppendix)\b"
    r"|\b(?:have|in|of|for|with|to|on) that \w"
)
_AUTHOR = re.compile(r"\b(?:I|[Mm]y|me)\b")
_LICENCE = re.compile(
    r"\b(?:licen[sc]e[sd]?|licensees?|copyright\w*|sponsor\w*|donat\w+|funding|tidelift|patreon)\b", re.IGNORECASE
)
_PERSON = re.compile(r"\b(?:[Yy]ou|[Yy]ours?)\b")
_DESCRIPTION, _IMPERATIVE, _CONTINUED = -2.5, -1.5, -0.8
"""Weights of the descriptions of terms, of instructions, and of sentences about a thing that others have introduced."""
_INSTRUCTION = re.compile(r"(?!\w*(?:ly|ing|ed)\b)([A-Z][a-z]+) (?:an?|the|your|all|any|each|every|its|off|back|up)\b")
_CONDITION = re.compile(
    r"^(?:if|when|once|after|unless|while|because|now|let|note|wenn|falls|если|si)\b|^[\"\u201c\d]|^(?:如果|若|当)",
    re.I,
)


def rank(
    candidates: Sequence[CandidateSentence],
    title: str,
    language: str,
    *,
    genre: Genre = "",
    learnt: Scores | None = None,
    agreement: Scores | None = None,
) -> Scores:
    """Score the candidates of a document; higher is better.

    Args:
        candidates: The candidates.
        title: Title of the document; empty if it has none.
        language: Code of its language.
        genre: Genre of the document; the grants and conditions of a licence count more.
        learnt: Scores of a trained ranker; None without one.
        agreement: Agreement of each candidate with sampled summaries; None if there are none.
    """
    tokenize = ContentWords(language)
    words = SentenceWords(tokenize(candidate.text) for candidate in candidates)
    scores = _CENTRALITY * _standardize(_centrality(words)) + _FRAME_CENTRALITY * _frame_centrality(candidates, words)
    headings = Counter(word for heading in {item.section for item in candidates} for word in set(tokenize(heading)))
    title_words = set(tokenize(title))
    scores += _HEADINGS * _standardize(
        np.array([sum(math.log1p(headings[word]) for word in set(sentence)) for sentence in words])
    )
    for weight, values in ((_LEARNT, learnt), (_AGREEMENT, agreement)):
        scores += weight * _standardize(values) if values is not None else 0.0
    total = max((candidate.place for candidate in candidates), default=0) + 1
    named = [item.section.lower() in title.lower().split() for item in candidates]
    topics = {candidates[index].section_index: index for index in reversed(range(len(candidates)))}
    scores[list(topics.values())] += _FIRST_OF_SECTION
    scores[[index for index in topics.values() if named[index]]] += _NAMED_SECTION
    scores += [_place(item, total, genre) + _cues(item, language) + _style(item.text, genre) for item in candidates]
    scores += [_context_dependence(item, language) * (genre in _PROSE_GENRES) for item in candidates]
    scores += [
        _overlap(sentence, title_words, set(tokenize(candidate.section)))
        for candidate, sentence in zip(candidates, words, strict=True)
    ]
    scores += [
        _ANSWER if item.is_first and _WHAT_IS.match(item.section) and title_words & set(tokenize(item.section)) else 0.0
        for item in candidates
    ]
    return scores + [
        _DEFINITION * _names(title, definition[definition.lastindex or 0], tokenize)
        if (definition := _COPULA.match(candidate.text))
        else 0.0
        for candidate in candidates
    ]


def select(
    candidates: Sequence[CandidateSentence],
    scores: Scores,
    language: str,
    words: int,
    minimum: float = -math.inf,
    *,
    is_list: bool = False,
) -> list[int]:
    """Select candidates greedily by score less redundancy, until the budget is filled.

    Details are not worth their words once half of the budget is filled, or beside a sentence that says it all.
    A sentence that refers to its predecessor is selected together with it, a repeated one once.

    Args:
        candidates: The candidates.
        scores: Their scores.
        language: Code of their language.
        words: Words of the selection; the best candidate is selected even if it is longer.
        minimum: Score less redundancy of a further candidate at least, once half of the words are selected.
        is_list: Whether all candidates have the same rank, as answers, changes and terms have.

    Returns:
        Indices of the selected candidates, in order.
    """
    tokenize = ContentWords(language)
    best = float(scores.max(initial=0.0))
    is_said = best >= _PRINCIPAL or any(candidate.is_name_line for candidate in candidates)
    least = _LEAST_SHARE * best if is_said and not is_list else -math.inf
    kept = scores >= least
    for index in np.flatnonzero(kept):
        kept[unit_of(candidates, int(index))] = True
    first = {candidates[index].text: index for index in reversed(range(len(candidates)))}
    scores = np.where(kept & np.isin(np.arange(len(kept)), list(first.values())), scores, -math.inf)
    limits = {"redundancy": _REDUNDANCY, "overrun": _OVERRUN, "minimum": minimum}
    return sorted(fill_budget(candidates, scores, tokenize, words, **limits))


def _names(title: str, subject: str, tokenize: ContentWords) -> bool:
    """Return whether a subject shares a word with the title, or is a name in it, however short ("R")."""
    is_name = subject[:1].isupper() and subject.strip() in title.split()
    return is_name or not set(tokenize(title)).isdisjoint(tokenize(subject))


def _centrality(words: SentenceWords) -> Scores:
    return np.log(np.maximum(WordGraph.of(words)[0].lexrank() * len(words), 1e-6))


def _frame_centrality(candidates: Sequence[CandidateSentence], words: SentenceWords) -> Scores:
    """Centrality among the sentences at the beginning and the end; a little less than the least for all others."""
    start, end = math.ceil(_FRAME_START * len(words)), len(words) - math.ceil(_FRAME_END * len(words))
    frame = [index for index in range(len(words)) if index < start or index >= end]
    values = np.full(len(candidates), -1.0)
    values[frame] = _standardize(_centrality(words.part(np.array(frame, np.int64))))
    return values


def _place(candidate: CandidateSentence, total: int, genre: Genre) -> float:
    """Score of the place of a sentence among all sentences of prose, `total` of them."""
    lead = _LEAD_OF_LICENCE if genre == "licence" else _LEAD
    score = lead * math.exp(-(candidate.place - 1) / _LEAD_SENTENCES)
    score += _EARLY * math.exp(-candidate.place / (_EARLY_SHARE * total))
    item = -_LIST_ITEM if genre == "changelog" else _LIST_ITEM * (genre in _PROSE_GENRES)
    return score + _FIRST_OF_BLOCK * candidate.is_first + item * candidate.is_item


def _cues(candidate: CandidateSentence, language: str) -> float:
    """Score of the section that a sentence is in, and of the document as its subject."""
    score = _INTRODUCTION * heading_is(candidate.section, language, "introductions")
    score += _DETAILS * heading_is(candidate.section, language, "details")
    return score + _CUE * refers_to_document(candidate.text, language) + _NAME_LINE * candidate.is_name_line


def _overlap(words: Sequence[str], title: set[str], section: set[str]) -> float:
    """Score of the words that a sentence shares with the title and with the heading of its section."""
    score = _TITLE * len(title.intersection(words)) / max(len(title), 2)
    score += _SECTION * len(section.intersection(words)) / max(len(section), 2)
    return score + _SUBJECT * bool(title.intersection(words[:2]))


def _style(text: str, genre: Genre) -> float:
    """Score of the length and the wording of a sentence."""
    size = word_count(text)
    score = -0.2 * max(_IDEAL_WORDS.start - size, 0) - 0.04 * max(size - _IDEAL_WORDS.stop, 0) * (
        genre in _PROSE_GENRES
    )
    score -= 0.3 * len(_ASIDES.findall(text)) + 3 * sum(map(str.isdigit, text)) / len(text)
    score -= 0.5 * len(_REFERENCE.findall(text)) * (genre != "licence") + bool(_AUTHOR.search(text))
    if genre == "licence":
        score += _GRANT * bool(_GRANTED.search(text)) + _TERMS * bool(_TERM.search(text))
        score += _DUTY * bool(_MUST.search(text))
        return score - 2 * bool(_CONDITION.match(text)) - 4 * bool(_ABOUT_TERMS.search(text))
    score -= 2 * bool(_LICENCE.search(text))
    return score - 0.4 * len(_PERSON.findall(text)) - 0.5 * bool(_CONDITION.match(text))


def _context_dependence(candidate: CandidateSentence, language: str) -> float:
    """Penalty of a sentence that depends on the text around it, at most 0."""
    score = _DESCRIPTION * (candidate.is_description or lacks_subject(candidate.text, language))
    if language != ENGLISH:
        return score
    verb = _INSTRUCTION.match(candidate.text)
    is_instruction = verb is not None and verb[1].lower() not in languages()[ENGLISH].function_words
    is_continued = not candidate.is_first and candidate.text.startswith("The ")
    return score + _IMPERATIVE * is_instruction + _CONTINUED * is_continued


def _standardize(values: Scores) -> Scores:
    """Return values with mean 0 and standard deviation 1, from -2 to 2; zeros if all are equal."""
    deviation = float(values.std()) if len(values) else 0.0
    return np.clip((values - values.mean()) / deviation, -2, 2) if deviation > 0 else np.zeros(len(values))
