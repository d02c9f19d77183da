from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from sumpool.evaluation.report import EvaluationReport, ScoreAggregator
from sumpool.evaluation.rouge import TYPES, EvaluationConfig, Score
from sumpool.evaluation.scorer import ScoredDocument, SummaryMetrics
from sumpool.text.fragments import Copying

NAMES = {"model": "tiny", "lead": "LEAD-60", "oracle": "oracle-3"}
CONFIG = EvaluationConfig(resamples=200)


def make_metrics(f1: float, *, document: bool = True) -> SummaryMetrics:
    copying = Copying(leak=0.0, facts=4, unsupported=1) if document else None
    return SummaryMetrics({name: Score(0.0, 0.0, f1) for name in TYPES}, words=40, repetition=0.02, copying=copying)


def scored(
    number: int, *, leak: float | None, scorable: bool = True, share_read: float | None = None
) -> ScoredDocument:
    generator = np.random.default_rng(number)
    noise = generator.normal(0, 0.01, 3)
    systems = {"model": make_metrics(0.40 + float(noise[0]), document=leak is not None)}
    if leak is not None:
        systems["lead"] = make_metrics(0.35 + float(noise[1]))
        systems["oracle"] = make_metrics(0.60 + float(noise[2]))
    return ScoredDocument(f"d{number}", "text", leak, share_read, scorable, systems)


def report(documents: list[ScoredDocument]) -> EvaluationReport:
    scores = ScoreAggregator()
    for document in documents:
        scores.add(document)
    return scores.report(CONFIG, NAMES, "signature")


def test_every_system_has_a_row_on_every_slice() -> None:
    result = report([scored(number, leak=0.1 * number) for number in range(10)])
    assert [(row.slice, row.system, row.documents) for row in result.rows] == [
        ("all", "tiny", 10),
        ("all", "LEAD-60", 10),
        ("all", "oracle-3", 10),
        ("low-leak", "tiny", 2),
        ("low-leak", "LEAD-60", 2),
        ("low-leak", "oracle-3", 2),
    ]
    assert result.documents == 10
    assert result.notes == ()
    assert result.to_json().startswith('{\n  "rows": [\n    {\n      "slice": "all",\n      "system": "tiny",')


def test_scores_are_means_over_the_documents_of_the_slice() -> None:
    documents = [scored(number, leak=0.1 * number) for number in range(10)]
    row = report(documents).rows[3]
    expected = [document.systems["model"].rouge["rougeL"].f1 for document in documents[:2]]
    assert row.rouge["rougeL"].mean == pytest.approx(np.mean(expected))
    assert min(expected) <= row.rouge["rougeL"].low <= row.rouge["rougeL"].high <= max(expected)
    assert (row.words, row.unsupported) == (40, 0.25)
    assert row.repetition == pytest.approx(0.02)


def test_without_documents_there_is_one_row_and_a_note() -> None:
    result = report([scored(number, leak=None) for number in range(5)])
    assert [(row.slice, row.system) for row in result.rows] == [("all", "tiny")]
    assert result.rows[0].unsupported is None
    assert "documents are not known" in result.notes[0]
    assert len(result.tables()) == len(report([]).tables()) == 1


def test_references_without_words_for_rouge_are_noted() -> None:
    result = report([scored(1, leak=0.0), scored(2, leak=0.0, scorable=False)])
    assert result.notes == (
        "1 of 2 references have no word of a-z or 0-9, so their ROUGE is 0; other scripts need "
        "evaluate.tokenizer=unicode",
    )


def test_truncated_documents_are_noted() -> None:
    result = report([scored(1, leak=0.0, share_read=1.0), scored(2, leak=0.0, share_read=0.5)])
    assert result.notes == ("1 of 2 documents are longer than the model reads; it read 75% of a document on average",)
    assert report([scored(1, leak=0.0, share_read=1.0)]).notes == ()


def test_the_share_of_abstractive_summaries_is_noted() -> None:
    documents = [replace(scored(number, leak=0.0), mode="abstractive") for number in range(3)]
    assert report(documents).notes == ()
    documents.append(replace(scored(3, leak=0.0), mode="extractive"))
    shown = "3 of 4 summaries (75%) are abstractive, the others are sentences of the document"
    assert report(documents).notes == (shown,)


def test_empty_summaries_are_noted() -> None:
    empty = SummaryMetrics({name: Score(0.0, 0.0, 0.0) for name in TYPES}, words=0, repetition=0.0, copying=None)
    scores = ScoreAggregator()
    scores.add(ScoredDocument("a", "", None, None, True, {"model": empty}))
    notes = scores.report(CONFIG, NAMES, "signature", ["from elsewhere"]).notes
    assert (notes[0], notes[-1]) == ("from elsewhere", "1 of 1 summaries are empty")


def test_the_signature_has_the_settings_of_the_interval() -> None:
    assert report([scored(1, leak=0.0)]).signature == (
        "signature | interval:95 %, bootstrap, 200 resamples, seed 1 | "
        "p:paired bootstrap, paired permutation, Holm over the pairs of a slice"
    )


def test_the_system_is_compared_with_each_baseline() -> None:
    result = report([scored(number, leak=0.0) for number in range(30)])
    assert [(item.slice, item.system, item.other, item.documents) for item in result.differences] == [
        (part, "tiny", other, 30) for part in ("all", "low-leak") for other in ("LEAD-60", "oracle-3")
    ]
    lead = result.differences[0].rouge["rouge1"]
    assert lead.difference.mean == pytest.approx(0.05, abs=0.01)
    assert lead.permutation < 0.02
    assert lead.wins + lead.ties + lead.losses == 30
    assert lead.wins > 25
    assert result.differences[0].holm["rouge1"] == pytest.approx(2 * lead.permutation)


def test_a_system_named_like_a_baseline_keeps_its_scores() -> None:
    scores = ScoreAggregator()
    for number in range(10):
        scores.add(scored(number, leak=0.0))
    result = scores.report(CONFIG, {**NAMES, "model": "LEAD-60"}, "signature")
    assert result.rows[0].rouge["rouge1"].mean > result.rows[1].rouge["rouge1"].mean
    assert result.differences[0].rouge["rouge1"].wins > 8


def test_length_of_baselines_is_a_number() -> None:
    for words in (0, "summary"):
        with pytest.raises(ValidationError, match=r"lead_words"):
            EvaluationConfig.model_validate({"lead_words": words})
