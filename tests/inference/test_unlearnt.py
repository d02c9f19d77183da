import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.inference import loading
from sumpool.inference.loading import load_for_generation
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.summaries import generate_summaries
from sumpool.inference.unlearnt import load_for_unlearnt, saved_settings, summarize_unlearnt
from sumpool.progress import Progress
from sumpool.workflows.summarize import summarize
from tests.conftest import story
from tests.ranking.test_sentence_selector import document

STORY = Document("story", story(1, 200))
UNLEARNT = [
    document("de", 9),
    Document("short", "Hosts send packets to gateways."),
    Document("empty", " "),
    Document("broken", "", error="broken must be readable"),
    document("zh", 9),
    Document("two", "Hosts send packets to gateways.\n\nA second line without an end\n\nGateways drop some of them."),
    Document("numbers", "1.5 22.4 9,103 88.1 7.25 6.02\n" * 40),
    Document("code", "for (i = 0; i < n; i++) { a[i] = b(i) & ~c; }\n" * 40),
    Document.from_parsed("blocks", ParsedDocument((TextBlock("Hosts", "heading"), TextBlock("Hosts send packets.")))),
]


def test_the_model_changes_nothing_about_what_it_has_not_learnt() -> None:
    model = load_for_unlearnt(SHIPPED)
    assert model
    expected = list(generate_summaries(UNLEARNT, load_for_generation(SHIPPED)))
    for each, summary in zip(UNLEARNT, expected, strict=True):
        found = summarize_unlearnt(each, model)
        assert found, each.id
        assert (found.summary, found.sentences) == (summary.summary, summary.sentences), each.id
        assert (found.extraction, found.reason) == (summary.extraction, summary.reason), each.id
        assert (found.language, found.source) == (summary.language, summary.source), each.id


def test_the_model_reads_what_it_may_know(run_folder: Path, tmp_path: Path) -> None:
    model = load_for_unlearnt(SHIPPED)
    assert model
    assert summarize_unlearnt(STORY, model) is None
    table = ParsedDocument(
        (TextBlock("Hosts send packets."), *(TextBlock(f"a {row} b", "table_row") for row in range(40)))
    )
    assert summarize_unlearnt(Document.from_parsed("-", table), model) is None
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    assert saved_settings(run) is not None
    assert load_for_unlearnt(run) is None  # its mode is abstractive
    (run / "model.safetensors").unlink()
    assert saved_settings(run) is None


@pytest.mark.slow
def test_documents_before_the_first_that_needs_the_model_do_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Mock(wraps=loading.load_for_generation)
    monkeypatch.setattr(loading, "load_for_generation", load)
    documents = [UNLEARNT[0], UNLEARNT[1], STORY, UNLEARNT[1]]
    reported: list[Progress] = []
    summaries = summarize(documents, SHIPPED, report=reported.append)
    first, second = next(summaries), next(summaries)
    assert (first.language, second.id, load.call_count) == ("de", "short", 0)
    assert [summary.id for summary in summaries] == ["story", "short"]
    assert load.call_count == 1
    assert [progress.done for progress in reported if progress.done and not progress.note] == [1, 2, 3, 4]
    notes = [progress.note.split(" (")[0] for progress in reported if "short: " in (progress.note or "")]
    assert notes == ["short: extractive summary"] * 2
