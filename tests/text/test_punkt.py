"""Decisions of Punkt equal those of nltk."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from sumpool.text.cleaning import clean, paragraphs
from sumpool.text.punkt import PunktModel
from sumpool.text.sentences import SentenceSplitter, shipped_parameters

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sumpool" / "data" / "sample" / "rfc.tar.xz"
ENGLISH = PunktModel.from_json(shipped_parameters())
LEARNT = PunktModel.from_json((ROOT / "sumpool" / "shipped" / "sentences.json").read_text("utf-8"))
FEW = PunktModel(
    frozenset(("e.g", "a", "3", "bb")),
    frozenset((("c", "d"), ("##number##", "b"))),
    frozenset(("b", "c")),
    {"a": 0b0010010, "b": 0b0000010, "c": 0b0100000, "d": 0b0010100, "bb": 0b1001000},
)
"""Few words, so that every rule applies to short texts."""
MODELS = {"english": ENGLISH, "learnt": LEARNT, "few": FEW}


def reference(model: PunktModel) -> Callable[[str], list[str]]:
    """The splitter of nltk with the parameters of a model."""
    parameters = PunktParameters()
    parameters.abbrev_types = set(model.abbreviations)
    parameters.collocations = set(model.collocations)
    parameters.sent_starters = set(model.starters)
    parameters.ortho_context.update(model.contexts)
    split: Callable[[str], list[str]] = PunktSentenceTokenizer(parameters).tokenize
    return split


REFERENCES = {name: reference(model) for name, model in MODELS.items()}


def documents() -> list[str]:
    """RFCs of the bundled sample, pages of the documentation, and a licence."""
    with tarfile.open(SAMPLE) as sample:
        members = [member for member in sample if member.name.endswith(".txt")][::40]
        contents = (sample.extractfile(member) for member in members)
        rfcs = [content.read().decode(errors="replace") for content in contents if content]
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "LICENSE"]
    return [*rfcs, *(page.read_text("utf-8") for page in pages)]


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_sentences_of_documents_equal_those_of_nltk(every: int) -> None:
    lines = [line for text in documents() for line in paragraphs(clean(text))][::every]
    for name, model in MODELS.items():
        sentences = [model.split(line) for line in lines]
        assert sum(map(len, sentences)) > 5_000 // every
        for line, split in zip(lines, sentences, strict=True):
            assert split == REFERENCES[name](line)


@pytest.mark.parametrize("name", MODELS)
@given(text=st.text(alphabet="aAbBcCdD..??!1 3,;:-\"')(\u2019\u201d \n\t\u00a0E\u00e9", max_size=40))
def test_sentences_of_odd_texts_equal_those_of_nltk(name: str, text: str) -> None:
    assert MODELS[name].split(text) == REFERENCES[name](text)


def test_parameters_are_read_as_written() -> None:
    assert PunktModel.from_json(FEW.to_json()) == FEW
    assert json.loads(FEW.to_json())["collocations"] == ["##number## b", "c d"]


def test_a_list_of_other_things_is_rejected() -> None:
    with pytest.raises(TypeError, match="a list of other things than words"):
        PunktModel.from_json(FEW.to_json().replace('"3",', "3,"))


def test_splitters_of_languages_equal_those_of_nltk() -> None:
    text = "Am 3. Oktober kam z. B. Dr. Maier. Der 4. war frei, vgl. S. 5 ff. Das war alles usw. Dann ging er."
    punkt = SentenceSplitter.for_language("de")._punkt
    assert punkt.split(text) == reference(punkt)(text)
