import pytest

from sumpool.inference.mbr_extraction import document_sentences
from sumpool.inference.summary_result import locate_sentences
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

ODD = (
    "\ufeffA ti\u00adtle\r\n\r\nHEADING\r\n\r\nHosts  send\u200b packets.\u2028It works. "
    "HEADING\tis said.\n\n\nIt works.\x0c\x1b"
)


@pytest.mark.parametrize("text", [ODD, story(1, 50), "", "x", "It works. It works.\nIt works."])
def test_every_sentence_is_located_in_the_text(text: str) -> None:
    sentences = document_sentences(text, SentenceSplitter.default())
    spans = locate_sentences(text, sentences)
    assert len(spans) == len(sentences)
    end = 0
    for sentence, span in zip(sentences, spans, strict=True):
        assert span is not None
        assert span[0] >= end
        located = text[span[0] : span[1]].replace("\u00ad", "").replace("\u200b", "")
        assert " ".join(located.split()) == sentence
        end = span[1]


def test_a_sentence_of_another_text_has_no_span() -> None:
    assert locate_sentences("Hosts send.", ["Plums fall.", "Hosts send.", ""]) == [None, (0, 11), None]
