"""Selection of sentences by the structure of a document, with or without the help of a model.

Without a model this is the summary of a text that the model has not learnt, such as one in another language, whose
stemmer and function words are used. With a model its sampled summaries are one feature more.
"""

from collections.abc import Callable, Sequence

import numpy as np

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.length import adjust_length
from sumpool.ranking.candidates import document_genre, document_title, file_stem, find_candidates
from sumpool.ranking.sentence_ranking import MIN_SCORE, rank, select
from sumpool.text.language import word_count
from sumpool.text.notices import is_notice
from sumpool.text.prose import PROSE_KINDS


def select_sentences(
    document: Document,
    sentences: Sequence[SourceSentence],
    language: str,
    words: int,
    agreement: Callable[[str], float] | None = None,
    target: LengthTarget | None = None,
) -> list[tuple[int, str]]:
    """Select the sentences of a summary.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        language: Code of its language.
        words: Words of the summary.
        agreement: Agreement of a sentence with summaries sampled from a model; None if there are none.
        target: Length of the summary in place of `words`; None if there is none.

    Returns:
        Index and text of each selected sentence, in order: whole sentences of prose, or the beginning of a document
        that has none.
    """
    genre = document_genre(document)
    candidates = find_candidates(document, sentences, language, genre)
    words = target.words if target else words
    if not candidates:
        return _lead(sentences, words)
    agreements = np.array([agreement(candidate.text) for candidate in candidates]) if agreement else None
    title = f"{document_title(document)} {file_stem(document)}"
    scores = rank(candidates, title, language, genre=genre, agreement=agreements)
    places = select(candidates, scores, language, words, MIN_SCORE)
    if target:
        best_first = sorted(places, key=lambda place: -scores[place])
        places = adjust_length(best_first, [candidate.text for candidate in candidates], scores, target)
    return [(candidates[place].index, candidates[place].text) for place in places]


def _lead(sentences: Sequence[SourceSentence], words: int) -> list[tuple[int, str]]:
    """Return the first sentences until there are enough words, at least one."""
    prose = [
        index
        for index, sentence in enumerate(sentences)
        if sentence.kind in PROSE_KINDS and not is_notice(sentence.text)
    ]
    indices: list[int] = []
    size = 0
    for index in prose or range(len(sentences)):
        size += word_count(sentences[index].text)
        if indices and size > words:
            break
        indices.append(index)
    return [(index, sentences[index].text) for index in indices]
