import pytest

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.scorer import Candidate, SummaryScorer

DOCUMENT = """Apples fall far. Nobody knows why they do.

Hosts send datagrams to a gateway. Pears are green. Routers drop packets when queues are full."""
REFERENCE = "Hosts send datagrams to a gateway. Routers drop packets when queues are full."


@pytest.fixture(scope="module")
def scorer() -> SummaryScorer:
    return SummaryScorer(EvaluationConfig(lead_words=5, oracle_sentences=2))


def test_a_document_is_scored_beside_its_baselines(scorer: SummaryScorer) -> None:
    scored = scorer.score(Candidate("rfc1", "Hosts send datagrams.", REFERENCE, DOCUMENT))
    assert (scored.id, scored.summary, scored.scorable) == ("rfc1", "Hosts send datagrams.", True)
    assert scored.systems["oracle"].rouge["rougeLsum"].f1 == 1.0
    assert scored.systems["oracle"].words == 13
    assert scored.systems["lead"].words == 5
    assert scored.systems["lead"].rouge["rouge1"].f1 == 0.0
    model = scored.systems["model"]
    assert model.rouge["rouge1"].precision == 1.0
    assert model.rouge["rouge1"].recall == pytest.approx(3 / 13)
    assert model.copying is not None
    assert (model.copying.coverage, model.copying.density) == (1.0, 3.0)
    assert scored.leak == 0.0  # no run of eight words of the reference crosses "Pears are green"


def test_a_reference_copied_from_the_document_leaks(scorer: SummaryScorer) -> None:
    text = "one two three four five six seven eight nine ten"
    assert scorer.score(Candidate("a", "x", text, f"{text} eleven")).leak == 1.0


def test_without_a_document_there_are_no_baselines(scorer: SummaryScorer) -> None:
    scored = scorer.score(Candidate("rfc1", "Hosts.", REFERENCE, None))
    assert set(scored.systems) == {"model"}
    assert scored.systems["model"].copying is None
    assert scored.leak is None


@pytest.mark.parametrize("text", ["", " \n", "文書", "a" * 100_000, "." * 100_000, "\x00\u2028", "one\n" * 2000])
def test_odd_texts_are_scored(scorer: SummaryScorer, text: str) -> None:
    scored = scorer.score(Candidate("odd", text[:1000], text[:1000], text))
    assert set(scored.systems) == {"model", "lead", "lexrank", "oracle"}


def test_a_reference_without_words_for_rouge_is_not_scorable(scorer: SummaryScorer) -> None:
    assert not scorer.score(Candidate("a", "文書", "文書", None)).scorable


def test_summary_level_rouge_uses_the_sentences_of_a_text_in_one_line(scorer: SummaryScorer) -> None:
    swapped = "Routers drop packets when queues are full. Hosts send datagrams to a gateway."
    rouge = scorer.score(Candidate("a", swapped, REFERENCE, None)).systems["model"].rouge
    assert rouge["rougeLsum"].f1 == 1.0
    assert rouge["rougeL"].f1 < 0.6


def test_the_signature_names_the_baselines_and_the_splitter(scorer: SummaryScorer) -> None:
    assert scorer.signature.endswith(
        "Lsum:punkt (sumpool's English) | LEAD-5 words | LexRank-5 words | oracle-2 sentences"
    )
