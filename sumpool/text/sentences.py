"""Text to sentences: Punkt (Kiss and Strunk, 2006), which learns abbreviations from raw text.

nltk has the algorithm; its parameters live in a JSON file of ours, because nltk's own are pickles or a download.
Paragraphs are separated by an empty line. The time is linear in the length of any text: Punkt only ever sees a window
of some thousand characters, and a sentence that fills a whole window ends there.
"""

import json
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final, final

from nltk.tokenize.punkt import PunktLanguageVars, PunktParameters, PunktSentenceTokenizer, PunktTrainer

from sumpool.errors import DataError
from sumpool.text._sampling import sample_lines
from sumpool.text.cleaning import clean, paragraphs

LONGEST_SENTENCE: Final = 10_000
"""Characters; a longer sentence is cut between words where it has any."""

# About 4 million characters of prose, some ten seconds; more finds hardly any abbreviation that matters.
_SAMPLE_LINES = 10_000
_LONGEST_LINE = 1000
_LINES_AT_ONCE = 1000


@final
class SentenceSplitter:
    """Trained Punkt parameters, ready to split."""

    def __init__(self, parameters: PunktParameters) -> None:
        """Use parameters of nltk's; `default`, `load` and `train` are the usual ways to get them."""
        self._parameters = parameters
        self._punkt = PunktSentenceTokenizer(parameters)

    @classmethod
    def default(cls) -> "SentenceSplitter":
        """Give the parameters for general English that the package ships."""
        return cls(_from_json(shipped_parameters()))

    @classmethod
    def load(cls, path: Path) -> "SentenceSplitter":
        """Read a parameter file.

        Raises:
            DataError: If the file is missing or is no parameter file.
        """
        try:
            return cls(_from_json(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} must be a file of sentence parameters, got {error!r}; prepare the data again"
            ) from error

    @classmethod
    def train(cls, texts: Iterable[str], path: Path) -> "SentenceSplitter":
        """Learn abbreviations and the like from documents and write the parameter file.

        The shipped abbreviations are kept beside the learnt ones, so that a few documents do not teach too little.
        Long streams are sampled, so memory is bounded.

        Args:
            texts: Documents, read once.
            path: Where the parameters are written.
        """
        parameters = learn(texts)
        parameters.abbrev_types |= cls.default()._parameters.abbrev_types
        path.write_text(as_json(parameters), "utf-8")
        return cls.load(path)

    def split(self, text: str) -> list[str]:
        """Split a text into sentences with single spaces; one that ends a paragraph ends with a line feed."""
        sentences: list[str] = []
        for paragraph in paragraphs(clean(text)):
            sentences += self._split_paragraph(paragraph)
            sentences[-1] += "\n"
        return sentences

    def split_line(self, text: str) -> list[str]:
        """Split a text into sentences that, joined, are the whole text in one line with single spaces.

        Each but the first begins with a space: one that follows another without a space is a part of it.
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
        while len(paragraph) - start > LONGEST_SENTENCE:
            space = paragraph.rfind(" ", start, start + LONGEST_SENTENCE)
            end = space if space > start else start + LONGEST_SENTENCE
            *whole, last = self._tokenize(paragraph[start:end])
            # The last sentence of a window may go on after it, so the next window begins with it; but only from the
            # second half on, or the same text would be read again and again.
            if len(last) > (end - start) // 2:
                whole.append(last)
            else:
                end -= len(last)
            yield from whole
            start = end + (paragraph[end] == " ")
        yield from self._tokenize(paragraph[start:])

    def _tokenize(self, window: str) -> list[str]:
        if not any(mark in window for mark in PunktLanguageVars.sent_end_chars):
            return [window]
        sentences: list[str] = self._punkt.tokenize(window)
        return sentences


def join(sentences: Iterable[str], paragraph: str = "\n") -> str:
    """Write sentences down one after the other, as `SentenceSplitter.split` gives them.

    Args:
        sentences: Sentences; one that ends a paragraph ends with a line feed.
        paragraph: What stands between paragraphs; two line feeds keep them apart where the text is split once more.
    """
    each = (f"{text[:-1]}{paragraph}" if text.endswith("\n") else f"{text} " for text in sentences)
    return "".join(each).strip()


def shipped_parameters() -> str:
    """Return the parameter file for general English that the package ships."""
    return files("sumpool.text").joinpath("english.json").read_text("utf-8")


def learn(texts: Iterable[str]) -> PunktParameters:
    """Train Punkt on a sample of documents.

    What it learns about the case of single letters is left out: variables and list marks would make sentence starters
    of the initials in names.
    """
    trainer = PunktTrainer()
    lines = sample_lines(texts, _SAMPLE_LINES, _LONGEST_LINE)
    for start in range(0, len(lines), _LINES_AT_ONCE):
        trainer.train("\n\n".join(lines[start : start + _LINES_AT_ONCE]), finalize=False)
    parameters = trainer.get_params()
    for letter in [word for word in parameters.ortho_context if len(word) == 1]:
        del parameters.ortho_context[letter]
    return parameters


def as_json(parameters: PunktParameters) -> str:
    """Write parameters with everything in alphabetical order, one entry a line."""
    content = {
        "abbreviations": sorted(parameters.abbrev_types),
        "collocations": sorted(" ".join(pair) for pair in parameters.collocations),
        "sentence_starters": sorted(parameters.sent_starters),
        "orthographic_context": {word: flags for word, flags in sorted(parameters.ortho_context.items()) if flags},
    }
    return json.dumps(content, ensure_ascii=False, indent=0) + "\n"


def _from_json(text: str) -> PunktParameters:
    content = json.loads(text)
    parameters = PunktParameters()
    parameters.abbrev_types = set(_words(content["abbreviations"]))
    parameters.collocations = {_pair(words) for words in _words(content["collocations"])}
    parameters.sent_starters = set(_words(content["sentence_starters"]))
    for word, flags in content["orthographic_context"].items():
        parameters.ortho_context[word] = int(flags)
    return parameters


def _words(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError("a list that is not of words")
    return value


def _pair(words: str) -> tuple[str, str]:
    first, second = words.split(" ")
    return first, second
