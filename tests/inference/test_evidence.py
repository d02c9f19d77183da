import json
from pathlib import Path

import numpy as np
import pytest

from sumpool.documents.document import Document, TextBlock
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.evidence import MAX_SOURCES, top_sources, with_evidence
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary, SummarySentence
from sumpool.workflows.summarize import summarize_in_processes
from tests.conftest import story


def load(run_folder: Path, mode: str, overflow: str = "select") -> LoadedModel:
    return load_for_generation(run_folder, [f"summarize.mode={mode}", f"summarize.on_overflow={overflow}"])


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
@pytest.mark.parametrize("sentences", [6, 40])
def test_weights_are_those_of_source_sentences(run_folder: Path, mode: str, sentences: int) -> None:
    documents = [Document(str(number), story(number, sentences)) for number in range(2)]
    loaded = load(run_folder, mode)
    plain = list(Pipeline.of(loaded).summarize(documents))
    explained = list(Pipeline.of(loaded).summarize(documents, evidence="sources"))
    for document, before, after in zip(documents, plain, explained, strict=True):
        assert after.text == before.text
        assert after.evidence is not None
        assert " ".join(sentence.sentence for sentence in after.evidence) == " ".join(before.text.split())
        for sentence in after.evidence:
            assert 1 <= len(sentence.sources) <= MAX_SOURCES
            assert 0 < sum(source.weight for source in sentence.sources) <= 1 + 1e-9
            for source in sentence.sources:
                assert " ".join(document.text[source.start : source.end].split()) == source.text
                assert source.line == document.text[: source.start].count("\n") + 1
            weights = [source.weight for source in sentence.sources]
            assert weights == sorted(weights, reverse=True)


def test_light_sources_are_left_out_but_for_the_heaviest() -> None:
    sentences = [SourceSentence(f"Host {number}.", 0, 7) for number in range(5)]
    for weights, indices in (
        ([0.02, 0.3, 0.06, 0.2, 0.25], [1, 4, 3]),
        ([0.9, 0.0, 0.04, 0.0, 0.06], [0, 4]),
        ([0.01, 0.02, 0.0, 0.0, 0.0], [1]),
        ([0.0] * 5, []),
    ):
        assert [source.index for source in top_sources(sentences, np.array(weights))] == indices


def test_extracted_sentences_are_their_own_source(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("1", story(1, 12))
    loaded = load(run_folder, "extractive")
    (summary,) = Pipeline.of(loaded).summarize([document])
    reading = Pipeline.of(loaded).read(document)
    monkeypatch.setattr(loaded.model, "encode", None)
    explained = with_evidence(summary, reading, lambda: loaded)
    assert explained.evidence is not None
    assert explained.read is None
    for sentence, index in zip(explained.evidence, summary.indices, strict=True):
        (source,) = sentence.sources
        assert (source.index, source.weight, source.text) == (index, 1.0, sentence.sentence)
        assert sentence.unsupported == ()


def test_blocks_give_pages_and_lines(run_folder: Path) -> None:
    blocks = tuple(TextBlock(text, page=4, line=7) for text in story(1, 12).split("\n\n"))
    document = Document("1", story(1, 12), blocks=blocks)
    (summary,) = Pipeline.of(load(run_folder, "abstractive")).summarize([document], evidence="sources")
    assert summary.evidence is not None
    sources = summary.evidence[0].sources
    assert {(source.page, source.line) for source in sources} == {(4, 7)}
    assert sources[0].place == "page 4, line 7"


def test_unsupported_facts_are_marked(run_folder: Path) -> None:
    loaded = load(run_folder, "extractive")
    document = Document("1", "Hosts send 12 packets to ARPA.\n\nGateways drop them.", title="Memo of Postel")
    text = "Hosts of Postel send 42 packets to ARPA and MIT."
    summary = Summary("1", text, 0.0, 9, 9, sentences=(SummarySentence(text, (0, 30), 0),))
    evidence = with_evidence(summary, Pipeline.of(loaded).read(document), lambda: loaded).evidence
    assert evidence is not None
    assert evidence[0].unsupported == ("42", "MIT")


@pytest.mark.slow
def test_pages_say_what_was_read(run_folder: Path) -> None:
    short, long = Document("1", story(1, 12)), Document("2", story(1, 60))
    (whole,) = Pipeline.of(load(run_folder, "abstractive")).summarize([short], evidence="page")
    (cut,) = Pipeline.of(load(run_folder, "extractive", "truncate")).summarize([long], evidence="page")
    assert whole.read == frozenset(range(len(whole.source)))
    assert cut.read is not None
    assert len(cut.read) < len(cut.source)


def test_summaries_without_text_have_no_evidence(run_folder: Path) -> None:
    documents = [Document("1", ""), Document("2", "", error="missing")]
    for summary in Pipeline.of(load(run_folder, "abstractive")).summarize(documents, evidence="sources"):
        assert summary.evidence is None
        assert "evidence" not in json.loads(summary.as_json())


@pytest.mark.slow
def test_processes_give_the_same_evidence(run_folder: Path) -> None:
    documents = [Document(str(number), story(number, 12)) for number in range(3)]
    loaded = load(run_folder, "extractive")
    expected = [summary.evidence for summary in Pipeline.of(loaded).summarize(documents, evidence="sources")]
    run = RunFiles.open(run_folder, ["summarize.mode=extractive"])
    results = summarize_in_processes(documents, run, jobs=1, evidence="sources")
    assert [summary.evidence for summary in results] == expected
