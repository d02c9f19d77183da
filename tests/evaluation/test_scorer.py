import math
import random
from collections import Counter

import numpy as np
import pytest

from sumpool.evaluation.rouge import EvaluationConfig, RougeTokenizer, UnicodeTokenizer
from sumpool.evaluation.scorer import (
    Candidate,
    ReferenceDocument,
    SummaryScorer,
    lexrank,
    oracle,
    random_ranks,
    take_sentences,
    textrank,
)

DOCUMENT = """Apples fall far. Nobody knows why they do.

Hosts send datagrams to a gateway. Pears are green. Routers drop packets when queues are full."""
REFERENCE = "Hosts send datagrams to a gateway. Routers drop packets when queues are full."
SOURCE = ReferenceDocument("rfc1", REFERENCE, DOCUMENT)


@pytest.fixture(scope="module")
def scorer() -> SummaryScorer:
    return SummaryScorer(EvaluationConfig(lead_words=5))


def test_a_document_is_scored_beside_its_baselines(scorer: SummaryScorer) -> None:
    scored = scorer.score(Candidate(SOURCE, "Hosts send datagrams."))
    assert (scored.id, scored.summary, scored.scorable) == ("rfc1", "Hosts send datagrams.", True)
    assert scored.systems["oracle"].rouge["rougeLsum"].f1 == 1.0
    assert scored.systems["oracle"].words == 13
    assert scored.systems["lead"].words == 5
    assert scored.systems["lead"].rouge["rouge1"].f1 == 0.0
    model = scored.systems["model"]
    assert model.rouge["rouge1"].precision == 1.0
    assert model.rouge["rouge1"].recall == pytest.approx(3 / 13)
    assert model.copying is not None
    assert scored.leak == 0.0  # no run of eight words of the reference crosses "Pears are green"


def test_without_a_document_there_are_no_baselines(scorer: SummaryScorer) -> None:
    scored = scorer.score(Candidate(ReferenceDocument("rfc1", REFERENCE, None), "Hosts."))
    assert set(scored.systems) == {"model"}
    assert scored.systems["model"].copying is None
    assert scored.leak is None


def test_odd_texts_are_scored(scorer: SummaryScorer) -> None:
    for text in ("", " \n", "文書", "a" * 100_000, "." * 100_000, "\x00\u2028", "one\n" * 2000):
        scored = scorer.score(Candidate(ReferenceDocument("odd", text[:1000], text), text[:1000]))
        assert set(scored.systems) == {"model", "lead", "lexrank", "textrank", "random", "oracle"}


def test_the_signature_names_the_baselines_and_the_splitter(scorer: SummaryScorer) -> None:
    assert scorer.signature.endswith(
        "Lsum:sumpool's English | LEAD-5 words | LexRank-5 words | "
        "TextRank-5 words | random-5 words | oracle-3 sentences"
    )


def test_baselines_of_equal_length_have_as_many_words_as_the_summary() -> None:
    for summary in ("Hosts.", "Hosts send datagrams to a gateway when they like.", "", "so " * 99):
        scorer = SummaryScorer(EvaluationConfig(), equal_length="shortest")
        assert [scorer.baselines[name] for name in ("lead", "textrank", "oracle")] == ["LEAD", "TextRank", "oracle-3"]
        systems = scorer.score(Candidate(SOURCE, summary)).systems
        length = min(len(summary.split()), len(DOCUMENT.split()))
        for name in ("lead", "lexrank", "textrank", "random"):
            assert systems[name].words == length
        if length:
            fixed = SummaryScorer(EvaluationConfig(lead_words=length)).score(Candidate(SOURCE, "x"))
            assert all(
                systems[name] == fixed.systems[name] for name in ("lead", "lexrank", "textrank", "random", "oracle")
            )


def test_systems_are_cut_to_one_length() -> None:
    candidate = Candidate(SOURCE, "Hosts send datagrams to a gateway.")
    others = {"short": "Hosts send.", "empty": "", "long": "so " * 99}
    full = SummaryScorer(EvaluationConfig()).score(candidate, others).systems
    assert [full[name].words for name in ("model", *others)] == [6, 2, 0, 99]
    shortest = SummaryScorer(EvaluationConfig(), equal_length="shortest").score(candidate, others).systems
    assert [shortest[name].words for name in ("model", *others, "lead", "lexrank")] == [2, 2, 0, 2, 2, 2]
    assert shortest["model"].rouge == shortest["short"].rouge == full["short"].rouge
    cut = SummaryScorer(EvaluationConfig(), equal_length="references")
    words = len(REFERENCE.split())
    systems = cut.score(candidate, others).systems
    assert [systems[name].words for name in ("model", *others, "lead")] == [6, 2, 0, words, words]
    assert cut.signature.endswith("| cut to the references")


def test_baselines_can_be_chosen() -> None:
    scorer = SummaryScorer(EvaluationConfig(baselines=("textrank", "lead")))
    assert set(scorer.score(Candidate(SOURCE, "x")).systems) == {"model", "lead", "textrank"}
    none = SummaryScorer(EvaluationConfig(baselines=()))
    assert set(none.score(Candidate(SOURCE, "x")).systems) == {"model"}
    assert none.signature.endswith("| no baselines")


def test_a_baseline_does_not_depend_on_the_others() -> None:
    every = SummaryScorer(EvaluationConfig()).score(Candidate(SOURCE, "x")).systems
    for name in ("lead", "lexrank", "textrank", "random", "oracle"):
        alone = SummaryScorer(EvaluationConfig.model_validate({"baselines": [name]}))
        assert alone.score(Candidate(SOURCE, "x")).systems[name] == every[name]


def test_chinese_is_scored_with_the_unicode_tokenizer() -> None:
    scorer = SummaryScorer(EvaluationConfig(tokenizer="unicode", lead_words=14))
    document = "苹果落在树下。没有人知道。主机向网关发送数据报。路由器丢弃分组。"
    scored = scorer.score(Candidate(ReferenceDocument("a", "主机向网关发送数据报。", document), "主机发送数据报。"))
    assert scored.scorable
    assert scored.systems["model"].words == 7
    assert scored.systems["model"].rouge["rouge1"].precision == 1.0
    assert scored.systems["oracle"].rouge["rougeLsum"].f1 == 1.0  # sentences end at the ideographic full stop
    assert scored.systems["lead"].words == 14
    model = scored.systems["model"].copying
    assert model is not None
    assert (scored.document_words, scored.leak) == (28, 1.0)


TOKENIZER = RougeTokenizer(stemmer=True)
tokenize = TOKENIZER.tokenize


def test_lexrank_of_equally_central_sentences_is_the_lead() -> None:
    for sentences in ([], ["...", "!"], ["Same.", "Same."]):
        ranks = lexrank([tokenize(sentence) for sentence in sentences])
        assert take_sentences(sentences, ranks, 60, TOKENIZER) == " ".join(sentences)


def naive_textrank(sentences: list[list[str]]) -> list[float]:
    """TextRank by a dense matrix of similarities and the solution of its linear equations."""
    count = len(sentences)
    similarity = np.zeros((count, count))
    for i, first in enumerate(sentences):
        for j, second in enumerate(sentences):
            if i != j and len(first) * len(second) > 1:
                similarity[i, j] = len(set(first) & set(second)) / (math.log(len(first)) + math.log(len(second)))
    degree = similarity.sum(1)
    walk = np.divide(similarity, degree[:, None], out=np.zeros_like(similarity), where=degree[:, None] > 0)
    ranks: list[float] = np.linalg.solve(np.eye(count) - 0.85 * walk.T, np.full(count, 0.15)).tolist()
    return ranks


def test_textrank_equals_a_dense_solution() -> None:
    for seed in range(20):
        generator = random.Random(seed)
        words = "abcdefghijklmnopqrstuvwxyz"[: 3 + seed]
        sentences = [generator.choices(words, k=generator.randint(0, 12)) for _ in range(generator.randint(1, 40))]
        assert textrank(sentences) == pytest.approx(naive_textrank(sentences), abs=1e-7)


def test_textrank_of_sentences_without_common_words() -> None:
    assert textrank([]).tolist() == []
    assert textrank([["a"], ["a"], ["b", "c"], []]) == pytest.approx([0.15] * 4)  # log 1 + log 1 = 0: no edge
    assert textrank([["a", "b"], ["a", "c"]]) == pytest.approx([1.0, 1.0])


def test_random_sentences_depend_on_the_id() -> None:
    assert sorted(random_ranks("rfc1", 9)) == list(range(9))
    assert random_ranks("rfc1", 9).tolist() == random_ranks("rfc1", 9).tolist() != random_ranks("rfc2", 9).tolist()
    firsts = {int(random_ranks(f"rfc{number}", 9).argmax()) for number in range(200)}
    assert firsts == set(range(9))


def test_sentences_are_taken_by_rank_in_document_order() -> None:
    sentences = ["a b c.", "d e f.", "g h i."]
    assert take_sentences(sentences, np.array([1.0, 0.0, 2.0]), 6, TOKENIZER) == "a b c. g h i."
    assert take_sentences(sentences, np.array([1.0, 0.0, 2.0]), 5, TOKENIZER) == "a b c. g h"
    chinese = ["主机发送。", "网关丢弃。"]
    assert take_sentences(chinese, np.array([0.0, 1.0]), 4, UnicodeTokenizer(stemmer=False)) == "网关丢弃。"


def test_the_oracle_stops_when_no_sentence_raises_the_agreement() -> None:
    assert oracle(["Hosts send.", "Apples fall."], "Hosts send.", 2, tokenize) == "Hosts send."
    assert oracle(["Apples fall.", ""], "Hosts send.", 2, tokenize) == ""
    assert oracle([], "Hosts send.", 2, tokenize) == ""
    assert oracle(["Hosts send."], "", 2, tokenize) == ""


def agreement(chosen: list[str], reference: str) -> float:
    """ROUGE-1 F1 + ROUGE-2 F1, counted anew; no pair of words crosses two sentences."""
    total = 0.0
    for size in (1, 2):
        have, wanted = (
            Counter(
                tuple(words[start : start + size])
                for words in map(tokenize, texts)
                for start in range(len(words) - size + 1)
            )
            for texts in (chosen, [reference])
        )
        total += 2 * (have & wanted).total() / max(have.total() + wanted.total(), 1)
    return total


def test_the_oracle_equals_an_exhaustive_greedy_search() -> None:
    generator = random.Random(4)
    words = [f"w{number}" for number in range(30)]
    for _ in range(50):
        sentences = [" ".join(generator.choices(words, k=generator.randint(1, 9))) + "\n" for _ in range(12)]
        reference = " ".join(generator.choices(words, k=25))
        chosen: list[int] = []
        for _ in range(3):
            rest = [place for place in range(12) if place not in chosen]
            value, place = max(
                (agreement([sentences[index] for index in [*chosen, place]], reference), -place) for place in rest
            )
            if value <= agreement([sentences[index] for index in chosen], reference):
                break
            chosen.append(-place)
        expected = "".join(sentences[place] for place in sorted(chosen)).strip()
        assert oracle(sentences, reference, 3, tokenize) == expected
