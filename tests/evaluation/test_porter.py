"""Stems equal those of nltk."""

import random
import re
from pathlib import Path

from nltk.stem.porter import PorterStemmer

from sumpool.evaluation.rouge import STEP_2, STEP_3, STEP_4, stem

NLTK = PorterStemmer().stem
SUFFIXES = ["ed", "eed", "ied", "ies", "ing", "ll", "s", "tted", "y"]
SUFFIXES += [suffix for suffix, _ in (*STEP_2, *STEP_3, *STEP_4)]


def test_stems_of_random_words_equal_those_of_nltk() -> None:
    draws = random.Random(0)
    for _ in range(10_000):
        word = "".join(draws.choices("aeiouybcglst", k=draws.randint(0, 6)))
        word += "".join(draws.choices(SUFFIXES, k=draws.randint(0, 3)))
        assert stem(word) == NLTK(word), word


def test_stems_of_irregular_words_equal_those_of_nltk() -> None:
    words = "sky skies dying lying news innings howe proceed dies died flies spied enjoy geologi theology radically"
    for word in [*words.split(), "", "a", "as", "is", "oed", "y" * 50, "logical", "electrically", "feed", "agreed"]:
        assert stem(word) == NLTK(word), word


def test_stems_of_english_text_equal_those_of_nltk() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for word in set(re.findall("[a-z0-9]+", text.lower())):
        assert stem(word) == NLTK(word), word
