"""Choice of a generated summary: minimum Bayes risk over whole samples, after a check of their facts.

The candidates are the best hypothesis and the sampled summaries of a document. First the sentences that the settings
do not allow, see `summarize.factuality`, are replaced by the source sentences that they copy most of, or dropped, and
sentences that are not well-formed are repaired or dropped. Then the candidate with the highest expected agreement with
the samples is chosen (Kumar and Byrne, 2004; by samples Eikema and Aziz, 2020, arXiv:2005.10283), without the sample
that it was made from.

A model with a pointer splices spans of its document, and a number or a name that stands somewhere in the document may
still be wrong in the sentence. A generated sentence is therefore compared with its *sources* alone, the source
sentences that its words were copied from: those that share trigrams of words with it, chosen greedily by the words
that each adds (`_MIN_COPIED` at least). Words are compared in lower case, without negations, and numbers as digits.

- Each number and each name, recognised by its spelling, must occur in one of the sources.
- Each word that is shared with a source within a trigram must follow a negation (not, no, never, without ...) if and
  only if it does so there. A negation before any other word must occur in a source.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sumpool.core.decoding.config import DecodingConfig, LengthTarget
from sumpool.documents.source_sentences import SourceSentence
from sumpool.evaluation.rouge import Agreement, RougeTokenizer
from sumpool.inference.extraction import Reading
from sumpool.inference.generation import Generated
from sumpool.inference.summary import NO_EXTRACTION, Extraction
from sumpool.text.form import repair_text, text_faults
from sumpool.text.language import ENGLISH, UNSPACED, word_count
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter

_MIN_COPIED = 3
"""Words of a generated sentence that a further source must add."""
_NGRAM = 3
_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|\w+(?:['\u2019]\w+)*")
_NEGATIONS = frozenset(("not", "no", "never", "neither", "nor", "none", "without", "nothing"))
_CONTRACTION = re.compile(r"n['\u2019]t$|(?<=^can)not$")
_UNITS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {
    **{word: str(number) for number, word in enumerate(_UNITS, 2)},
    **{word: str(10 * number) for number, word in enumerate(_TENS, 2)},
    **{"hundred": "100", "thousand": "1000", "million": "1000000"},
}
"""Numbers as words, without one, which is mostly none."""

UNFOUNDED = "no generated sentence is founded in the document"
_MIN_REPLACED = 0.3
"""Fraction of the words of a sentence that its source must have to replace it."""
_MIN_WORDS = 5
"""Words of a sentence at least, where sentences are checked."""
_CACHED_TEXTS = 1 << 12


@dataclass(frozen=True)
class FactCheck:
    """Comparison of a generated sentence with its document.

    Attributes:
        unfounded: Numbers and names that no source has, and words that a negation precedes in either only, as "not".
        sources: Indices of the sources, the one with the most copied words first; empty if nothing was copied.
        copied: Fraction of the words that were copied from the first source.
        spliced: Number of trigrams that the document does not have, in sentences of fewer words of shorter n-grams.
    """

    unfounded: tuple[str, ...]
    sources: tuple[int, ...]
    copied: float
    spliced: int


@final
class SummaryChooser:
    """Chooses among the best hypothesis and the sampled summaries of a document."""

    def __init__(self, config: DecodingConfig, splitter: SentenceSplitter) -> None:
        """Prepare by the settings."""
        self._config = config
        self._splitter = splitter
        self._tokenize = lru_cache(_CACHED_TEXTS)(RougeTokenizer(stemmer=True).tokenize)

    def choose(self, generated: Generated, reading: Reading) -> tuple[str, Extraction, str]:
        """Choose the text of a summary, and say whether it can serve.

        Args:
            generated: Best hypothesis and samples.
            reading: The document.

        Returns:
            The text, repaired as `summarize.repair` says; the sentences of the document that it consists of, if a text
            was chosen; why sentences must replace it, or nothing.
        """
        text, extraction, target = generated.text, NO_EXTRACTION, reading.target
        if text and reading.language not in UNSPACED:
            if self._config.repair:
                source = " ".join(reading.document.text.split())
                text = " ".join(repair_text(self._splitter.split(text), reading.language, source))
            if text and (self._config.mbr or self._config.factuality != "any"):
                best = replace(generated, text=text)
                chosen = self.choose_text(best, reading.sentences, target, reading.language)
                if not chosen:
                    return text, extraction, UNFOUNDED
                text, extraction = chosen, _copied(chosen, reading.sentences, self._splitter)
        cause = length_fault(target, reading.document.text, text, self._splitter) if target and text else ""
        return text, extraction, cause

    def choose_text(
        self,
        generated: Generated,
        sentences: Sequence[SourceSentence],
        target: LengthTarget | None = None,
        language: str = ENGLISH,
    ) -> str:
        """Choose the candidate with the highest agreement among those that are allowed.

        Args:
            generated: Best hypothesis and samples.
            sentences: Sentences of the document.
            target: Length of the summary; candidates of this length are preferred.
            language: Language of the document.

        Returns:
            The text; empty if no sentence of any candidate is allowed.
        """
        candidates = [generated.text, *(generated.samples if self._config.mbr else ())]
        texts = self._repaired(candidates, sentences, language)
        indices = [index for index, text in enumerate(texts) if text]
        if not indices:
            return ""
        if target:
            lengths = {index: _length(texts[index], target, self._splitter) for index in indices}
            met = [index for index, length in lengths.items() if target.minimum <= length <= target.maximum]
            indices = met or indices
        agreements = self._agreements([texts[index] for index in indices], indices, generated)
        return texts[indices[int(agreements.argmax())]]  # the first of equals

    def _repaired(self, texts: Sequence[str], sentences: Sequence[SourceSentence], language: str) -> list[str]:
        """Replace or drop the sentences of each text that are not allowed or not well-formed."""
        sources = [sentence.text for sentence in sentences]
        check = lru_cache(_CACHED_TEXTS)(FactChecker(sources).check) if self._config.factuality != "any" else None
        repaired = []
        for text in texts:
            parts = [" ".join(part.split()) for part in self._splitter.split(text)]
            if check:
                parts = [self._allowed(part, check(part), sentences) for part in parts]
            parts = repair_text(list(dict.fromkeys(filter(None, parts))), language)
            is_fragment = check and any(text_faults(parts, language=language))
            repaired.append("" if is_fragment else " ".join(parts))
        return repaired

    def _allowed(self, sentence: str, checked: FactCheck, sentences: Sequence[SourceSentence]) -> str:
        """Return a sentence, or the source that it copies most of, or nothing if that is little or no prose."""
        is_allowed = self._config.factuality == "facts" or not checked.spliced
        if is_allowed and checked.sources and not checked.unfounded and len(sentence.split()) >= _MIN_WORDS:
            return sentence
        if not checked.sources or checked.copied < _MIN_REPLACED:
            return ""
        source = sentences[checked.sources[0]]
        return source.text if source.kind in PROSE_KINDS else ""

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


def _copied(text: str, sentences: Sequence[SourceSentence], splitter: SentenceSplitter) -> Extraction:
    """Return the sentences of a generated text if all of them are sentences of the document."""
    numbers = {sentence.text: index for index, sentence in reversed(list(enumerate(sentences)))}
    indices = {numbers.get(" ".join(part.split()), -1) for part in splitter.split(text)}
    if -1 in indices or not indices:
        return NO_EXTRACTION
    ordered = sorted(indices)
    return Extraction(tuple(sentences[index].text for index in ordered), tuple(ordered))


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


class _Word(NamedTuple):
    """Word of a sentence: its surface, its form for comparison, and whether a negation precedes it."""

    surface: str
    form: str
    is_negated: bool


@final
class FactChecker:
    """Compares generated sentences with the sentences of a document."""

    def __init__(self, sentences: Sequence[str]) -> None:
        """Index the trigrams of the document.

        Args:
            sentences: All sentences of the document.
        """
        self._sentences = [list(_words(sentence)) for sentence in sentences]
        self._positions: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        lower: set[str] = set()
        inner: set[str] = set()
        for index, sentence in enumerate(self._sentences):
            for start, ngram in enumerate(_ngrams(sentence)):
                self._positions[ngram].append((index, start))
            lower.update(word.form for word in sentence if word.surface[:1].islower())
            inner.update(word.form for word in sentence[1:] if word.surface[:1].isupper())
        self._names = inner - lower
        """Words that the document never writes in lower case, not even within a sentence."""

    def check(self, sentence: str) -> FactCheck:
        """Compare a generated sentence with its sources."""
        words = list(_words(sentence))
        # for each source sentence, the positions of the words that it shares, and whether a negation precedes them
        shared: dict[int, dict[int, set[bool]]] = defaultdict(lambda: defaultdict(set))
        for start, ngram in enumerate(_ngrams(words)):
            for index, position in self._positions.get(ngram, ()):
                for offset in range(len(ngram)):
                    shared[index][start + offset].add(self._sentences[index][position + offset].is_negated)
        sources = _sources({index: set(negations) for index, negations in shared.items()})
        forms = {word.form for index in sources for word in self._sentences[index]}
        facts = (word for position, word in enumerate(words) if self._is_fact(word, position))
        unfounded = [word.surface for word in facts if word.form not in forms]
        unfounded += self._changed_negations(words, sources, [shared[index] for index in sources])
        return FactCheck(
            unfounded=tuple(unfounded),
            sources=tuple(sources),
            copied=len(shared[sources[0]]) / len(words) if sources else 0.0,
            spliced=sum(ngram not in self._positions for ngram in _ngrams(words)),
        )

    def _is_fact(self, word: _Word, position: int) -> bool:
        """Return whether a word is a number or a name, as the first word if the document has it as a name alone."""
        surface = word.surface
        if word.form.isdigit() or any(map(str.isdigit, surface)) or sum(map(str.isupper, surface)) > 1:
            return True
        return surface[0].isupper() and len(surface) > 1 and (position > 0 or word.form in self._names)

    def _changed_negations(
        self, words: Sequence[_Word], sources: Sequence[int], shared: Sequence[Mapping[int, Set[bool]]]
    ) -> Iterator[str]:
        """Yield the words that a negation precedes in the sentence or in its sources alone."""
        has_negation = any(word.is_negated for index in sources for word in self._sentences[index])
        for position, word in enumerate(words):
            negations = [values[position] for values in shared if position in values]
            if any(word.is_negated in values for values in negations):
                continue
            if negations or (word.is_negated and not has_negation):
                yield f"not {word.surface}"


def _words(sentence: str) -> Iterator[_Word]:
    """Split a sentence into words; negations become a property of the next word."""
    is_negated = False
    for match in _WORD.finditer(sentence):
        surface = match.group()
        stem = _CONTRACTION.sub("", surface)
        if not stem or surface.lower() in _NEGATIONS:  # no stem: "n't" by itself, torn from its verb
            is_negated = True
            continue
        yield _Word(stem, _form(stem), is_negated)
        is_negated = stem != surface


def _form(surface: str) -> str:
    """Form of a word for comparison: lower case, numbers as digits, names without plural and possessive."""
    base = surface.replace("\u2019", "'").removesuffix("'s").removesuffix("'")
    if base[-1:] == "s" and base[:-1].isupper():
        base = base[:-1]
    lower = base.lower()
    return _NUMBERS.get(lower, lower)


def _ngrams(words: Sequence[_Word]) -> Iterator[tuple[str, ...]]:
    forms = [word.form for word in words]
    size = min(_NGRAM, len(forms))
    return zip(*(forms[offset : len(forms) - size + 1 + offset] for offset in range(size)), strict=True)


def _sources(covered: dict[int, set[int]]) -> list[int]:
    """Choose source sentences greedily by the words that each adds, earlier ones first among equals."""
    chosen: list[int] = []
    rest = dict(covered)
    while rest:
        index = min(rest, key=lambda index: (-len(rest[index]), -len(covered[index]), index))
        words = rest.pop(index)
        if chosen and len(words) < _MIN_COPIED:
            break
        chosen.append(index)
        rest = {index: others - words for index, others in rest.items()}
    return chosen
