"""Sentence splitting by Punkt (Kiss and Strunk, 2006), which learns abbreviations from raw text.

nltk trains the parameters; they are stored as JSON, because those of nltk are pickles or a download.
Paragraphs are separated by an empty line. The time is linear in the length of any text: Punkt reads windows of at most
10,000 characters, and a sentence that fills a window ends there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final, final

from sumpool.errors import DataError
from sumpool.io.bounded import read_regular
from sumpool.text.cleaning import clean, paragraphs, sample_paragraphs
from sumpool.text.language import ENGLISH, UNSPACED, languages
from sumpool.text.punkt import END_MARKS, PunktModel

MAX_SENTENCE_CHARACTERS: Final = 10_000
"""A longer sentence is split between words, or within a word of that length."""

_LATIN_ABBREVIATIONS = ("e.g", "i.e", "etc", "et.al", "cf", "vs", "p", "pp")
_FULL_WIDTH_ENDS = "\u3002\uff01\uff1f\uff61"
_CLOSING = '\u201d\u2019\u300d\u300f\uff09)"'
"""Closing quotation marks and brackets, which belong to the sentence before them."""

_ASIDE_END = re.compile(r"\([^()]*[!?]\)$")

# About 4 million characters of prose, ten seconds of training; more adds hardly any abbreviation that matters.
_SAMPLE_LINES = 10_000
_MAX_LINE_CHARACTERS = 1000
_CHUNK_LINES = 1000


@final
class SentenceSplitter:
    """Sentence splitter with trained parameters."""

    def __init__(self, punkt: PunktModel, end_marks: str = "") -> None:
        """Use a model; `default`, `load`, `train` and `for_language` are the usual ways to get a splitter.

        Args:
            punkt: The model.
            end_marks: Characters that end a sentence even if no space follows, such as the ideographic full stop.
        """
        self._punkt = punkt
        self._end = re.compile(f"(?<=[{end_marks}])(?![{end_marks}{_CLOSING}])|(?<=[{end_marks}][{_CLOSING}])")
        self._end_marks = end_marks

    @classmethod
    def default(cls) -> "SentenceSplitter":
        """Return the splitter for general English that the package ships."""
        return cls(PunktModel.from_json(shipped_parameters()))

    @classmethod
    def for_language(cls, code: str) -> "SentenceSplitter":
        """Return the splitter for a language, which knows its common abbreviations; English for an unknown code."""
        language = languages().get(code)
        if code == ENGLISH or language is None:
            return cls.default()
        ordinals = map(str, range(1, 32)) if language.ordinals else ()  # those of dates: 3. Oktober
        abbreviations = language.abbreviations.union(_LATIN_ABBREVIATIONS, ordinals)
        return cls(PunktModel(abbreviations), _FULL_WIDTH_ENDS if code in UNSPACED else "")

    @classmethod
    def load(cls, path: Path) -> "SentenceSplitter":
        """Read a parameter file.

        Raises:
            DataError: If the file is missing or not a parameter file.
        """
        try:
            return cls(PunktModel.from_json(read_regular(path).decode("utf-8")))
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise DataError(
                f"{path} must be a file of sentence parameters, got {error!r}; prepare the data again"
            ) from error

    @classmethod
    def train(cls, texts: Iterable[str], path: Path) -> "SentenceSplitter":
        """Train on documents and write the parameter file.

        The shipped abbreviations are kept beside the learnt ones, for corpora of few documents. Long streams are
        sampled, so memory is bounded.
        """
        punkt = train_punkt(texts)
        punkt = replace(punkt, abbreviations=punkt.abbreviations | cls.default()._punkt.abbreviations)
        path.write_text(punkt.to_json(), "utf-8")
        return cls.load(path)

    def split(self, text: str) -> list[str]:
        """Split a text into sentences with single spaces; the last one of a paragraph ends with a line feed."""
        sentences: list[str] = []
        for paragraph in paragraphs(clean(text)):
            sentences += self._split_paragraph(paragraph)
            sentences[-1] += "\n"
        return sentences

    def split_line(self, text: str) -> list[str]:
        """Split a text into sentences whose concatenation is the whole text in one line with single spaces.

        Every sentence but the first begins with a space; one that follows another without a space is joined to it.
        """
        line = " ".join(paragraphs(clean(text)))
        starts = [0]
        end = 0
        for sentence in self.split(text):
            if line.startswith(" ", end):
                starts.append(end)
                end += 1
            end += len(sentence.removesuffix("\n"))
        return [line[start:stop] for start, stop in pairwise([*starts, end]) if stop]

    def _split_paragraph(self, paragraph: str) -> Iterator[str]:
        start = 0
        while len(paragraph) - start > MAX_SENTENCE_CHARACTERS:
            space = paragraph.rfind(" ", start, start + MAX_SENTENCE_CHARACTERS)
            end = space if space > start else start + MAX_SENTENCE_CHARACTERS
            *whole, last = self._tokenize(paragraph[start:end])
            # The last sentence of a window may continue beyond the window, so the next window begins with it; unless it
            # begins in the first half, or the same text would be read many times.
            if len(last) > (end - start) // 2:
                whole.append(last)
            else:
                end -= len(last)
            yield from whole
            start = end + (paragraph[end] == " ")
        yield from self._tokenize(paragraph[start:])

    def _tokenize(self, window: str) -> list[str]:
        if self._end_marks:
            parts = (part for sentence in self._without_asides(window) for part in self._end.split(sentence))
            return [part.strip() for part in parts if part.strip()]
        if not any(mark in window for mark in END_MARKS):
            return [window]
        return self._punkt.split(window)

    def _without_asides(self, window: str) -> list[str]:
        """Split where Punkt does, but not behind an exclamation in brackets, where Chinese and Japanese go on."""
        sentences: list[str] = []
        for sentence in self._punkt.split(window):
            if sentences and _ASIDE_END.search(sentences[-1]):
                sentences[-1] += f" {sentence}"
            else:
                sentences.append(sentence)
        return sentences


def join(sentences: Iterable[str], paragraph: str = "\n") -> str:
    """Join sentences to a text.

    Args:
        sentences: Sentences as returned by `SentenceSplitter.split`.
        paragraph: Separator of paragraphs; with two line feeds, splitting the text again finds the same paragraphs.
    """
    return "".join(f"{text[:-1]}{paragraph}" if text.endswith("\n") else f"{text} " for text in sentences).strip()


def shipped_parameters() -> str:
    """Return the parameter file for general English that the package ships."""
    return files("sumpool.text").joinpath("english.json").read_text("utf-8")


def train_punkt(texts: Iterable[str]) -> PunktModel:
    """Train Punkt on a sample of documents.

    The orthographic context of single letters is removed: because of variables and list marks, initials of names would
    count as sentence starters.
    """
    from nltk.tokenize.punkt import PunktTrainer  # which takes most of a second

    trainer = PunktTrainer()
    lines = sample_paragraphs(texts, _SAMPLE_LINES, _MAX_LINE_CHARACTERS)
    for start in range(0, len(lines), _CHUNK_LINES):
        trainer.train("\n\n".join(lines[start : start + _CHUNK_LINES]), finalize=False)
    learnt = trainer.get_params()
    return PunktModel(
        frozenset(learnt.abbrev_types),
        frozenset(learnt.collocations),
        frozenset(learnt.sent_starters),
        {word: flags for word, flags in learnt.ortho_context.items() if len(word) > 1},
    )
