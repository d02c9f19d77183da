import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sumpool.data.prepared_folder import write_manifest
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.documents.document import Document
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.evaluation.task import Results
from sumpool.inference.loading import LoadedModel
from sumpool.inference.summary import Summary
from sumpool.progress import Progress, no_op
from sumpool.recipe.load import load_recipe
from sumpool.tasks.summarization import evaluate
from sumpool.tasks.summarization.evaluate import evaluate_predictions, evaluate_run

DOCUMENTS = 12
SYSTEMS = ("tiny", "LEAD-3", "LEAD-8", "LEAD-5", "LexRank-3", "TextRank-3", "random-3", "oracle-3")


def example(number: int) -> Example:
    return Example(
        id=f"rfc{number}",
        document=f"Memo {number} talks. Hosts send {number} datagrams to a gateway.\n\nRouters drop packet {number}.",
        summary=f"Hosts send {number} datagrams. Routers drop packet {number}.",
        split="test",
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Summaries and references of the same documents."""
    examples = [example(number) for number in range(DOCUMENTS)]
    summaries, references = tmp_path / "ours.jsonl", tmp_path / "references.jsonl"
    summaries.write_text(
        "".join(json.dumps({"id": each.id, "summary": written(each.document)}) + "\n" for each in examples)
    )
    references.write_text(
        "".join(
            json.dumps({"id": each.id, "document": each.document, "summary": each.summary}) + "\n" for each in examples
        )
    )
    return summaries, references


def written(document: str) -> str:
    """What the model of these tests writes."""
    return " ".join(document.split()[3:8])


@pytest.fixture
def run(tmp_path: Path, tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose model is a function; `summarized` below counts what it reads."""
    folder, prepared = tmp_path / "runs" / "tiny", tmp_path / "prepared"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    with TextsWriter(prepared, "test") as texts:
        for number in range(DOCUMENTS):
            texts.add(example(number))
    write_manifest(prepared, {}, no_op)
    for path in prepared.rglob("*"):
        os.utime(path, (1, 1))  # so that files are hashed, and `check` is called, by the first evaluation only

    def load_for_generation(folder: Path, overrides: tuple[str, ...]) -> LoadedModel:
        recipe = load_recipe(tiny_recipe, [f"data.prepared={prepared}", *overrides])
        return cast(LoadedModel, SimpleNamespace(folder=folder, recipe=recipe))

    monkeypatch.setattr(evaluate, "load_for_generation", load_for_generation)
    replace_pipeline(monkeypatch, summarize)
    return folder


def replace_pipeline(monkeypatch: pytest.MonkeyPatch, generate: Callable[..., Iterator[Summary]]) -> None:
    monkeypatch.setattr(evaluate, "Pipeline", SimpleNamespace(of=lambda _: SimpleNamespace(summarize=generate)))


def summarize(documents: Iterable[Document], *, check: Callable[[], None]) -> Iterator[Summary]:
    """Look four documents ahead, as the real one looks some hundred ahead."""
    del check
    stretch = []
    for document in documents:
        stretch.append(document)
        if len(stretch) == 4:
            yield from map(summary, stretch)
            stretch = []
    yield from map(summary, stretch)


def summary(document: Document) -> Summary:
    return Summary(document.id, written(document.text), 0.0, tokens_read=30, tokens_total=40, seconds=0.1)


class Stop:
    """Interrupts after some documents."""

    def __init__(self, documents: int) -> None:
        self._left = documents

    def __call__(self) -> None:
        self._left -= 1
        if not self._left:
            raise Interrupted(2)


def test_a_run_is_evaluated_beside_its_baselines(run: Path) -> None:
    found = evaluate_run(run, overrides=["evaluate.resamples=100", "evaluate.lead_words=3"])
    assert [(row.slice, row.system) for row in found.rows] == [
        (part, system) for part in ("all", "low-leak") for system in SYSTEMS
    ]
    assert found.documents == DOCUMENTS
    assert found.rows[0].rouge["rouge1"].mean > found.rows[1].rouge["rouge1"].mean
    assert found.notes == (
        "LEAD-8 is as long as the references on average",
        "LEAD-5 is as long as the summaries of tiny on average",
        "12 of 12 documents are longer than the model reads; it read 75% of a document on average",
    )
    words = {row.system: row.words for row in found.rows}
    assert [words[f"LEAD-{count}"] for count in (3, 5, 8)] == [3, 5, 8]
    assert words["tiny"] == 5
    assert "LEAD-3 words" in found.signature
    assert "100 resamples" in found.signature


def test_results_are_files(run: Path) -> None:
    found = evaluate_run(run)
    folder = run / "evaluation" / "test"
    lines = [json.loads(line) for line in (folder / "documents.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [f"rfc{number}" for number in range(DOCUMENTS)]
    assert lines[3]["summary"] == written(example(3).document)
    assert set(lines[3]["systems"]) == {
        *("model", "lead", "lead_references", "lexrank", "textrank", "random", "oracle")
    }
    assert (folder / "report.json").read_text() == found.to_json()


def test_the_shipped_model_has_its_results_in_the_working_directory(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sumpool.tasks.summarization.evaluate.SHIPPED", run)
    monkeypatch.chdir(tmp_path)
    evaluate_run(run)
    assert (tmp_path / "evaluation/test/report.json").is_file()
    assert not (run / "evaluation").exists()


def test_the_same_summaries_give_the_same_table_from_a_file(run: Path, files: tuple[Path, Path]) -> None:
    ours, theirs = evaluate_run(run), evaluate_predictions(*files)
    assert [row.rouge for row in ours.rows] == [row.rouge for row in theirs.rows]
    assert [row.against_lead for row in ours.rows] == [row.against_lead for row in theirs.rows]
    assert ours.signature == theirs.signature


@pytest.mark.parametrize("stop", [1, 5, 11, 12])
def test_a_run_that_was_stopped_goes_on_where_it_was(run: Path, tmp_path: Path, stop: int) -> None:
    evaluate_run(run, results=Results(tmp_path / "whole"))
    with pytest.raises(Interrupted):
        evaluate_run(run, results=Results(tmp_path / "parts"), check=Stop(stop))
    unfinished = tmp_path / ".parts.incomplete"
    done = (unfinished / "documents.jsonl").read_bytes()
    assert done.count(b"\n") == stop
    (unfinished / "documents.jsonl").write_bytes(done + b'{"id": "rfc')  # and a line was cut short
    seen: list[Progress] = []
    evaluate_run(run, results=Results(tmp_path / "parts", resume=True), report=seen.append)
    assert [progress.done for progress in seen] == list(range(stop, DOCUMENTS + 1))
    for name in ("documents.jsonl", "report.json", "evaluation.json", "manifest.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_another_model_or_setting_is_not_added_to_the_same_lines(run: Path) -> None:
    evaluate_run(run)
    with pytest.raises(DataError, match="must hold the same settings to go on"):
        evaluate_run(run, overrides=["evaluate.lead_words=7"], results=Results(resume=True))
    with pytest.raises(DataError, match="must hold the same decoding to go on"):
        evaluate_run(run, overrides=["summarize.beams=1"], results=Results(resume=True))
    with pytest.raises(
        DataError, match="must hold the same documents to go on, got '12 of test' there and '3 of test'"
    ):
        evaluate_run(run, limit=3, results=Results(resume=True))
    (run / "model.safetensors").write_bytes(b"other")
    with pytest.raises(DataError, match="must hold the same model to go on"):
        evaluate_run(run, results=Results(resume=True))


def test_how_documents_are_batched_does_not_matter(run: Path) -> None:
    evaluate_run(run)
    evaluate_run(run, overrides=["summarize.batch_tokens=100"], results=Results(resume=True))


@pytest.mark.parametrize("kind", ["text", "html", "pdf"])
def test_documents_are_read_from_files(run: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    read: list[Document] = []

    def generate(documents: Iterable[Document], *_: object, **__: object) -> Iterator[Summary]:
        for document in documents:
            read.append(document)
            yield summary(document)

    evaluate_run(run)
    replace_pipeline(monkeypatch, generate)
    evaluate_run(run, overrides=[f"evaluate.files={kind}"])
    assert len(read) == DOCUMENTS
    assert read[0].id.startswith("rfc0.")
    assert read[3].blocks
    assert read[3].text.split() == example(3).document.split()
    lines = (run / "evaluation" / "test" / "documents.jsonl").read_text().splitlines()
    assert json.loads(lines[3])["id"] == "rfc3"
    with pytest.raises(DataError, match="files"):
        evaluate_run(run, results=Results(resume=True))


def test_a_limit_takes_documents_from_everywhere(run: Path) -> None:
    assert evaluate_run(run, limit=3).documents == 3
    lines = (run / "evaluation" / "test" / "documents.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["rfc0", "rfc4", "rfc8"]
    assert evaluate_run(run, limit=100).documents == DOCUMENTS
    with pytest.raises(RecipeError, match="the limit must be at least 1 document, got 0"):
        evaluate_run(run, limit=0)


def test_a_split_without_documents_is_an_error(run: Path, tmp_path: Path) -> None:
    with TextsWriter(tmp_path / "prepared", "validation"):
        pass
    with pytest.raises(DataError, match="validation must hold documents to evaluate, got none; take another split"):
        evaluate_run(run, "validation")


def test_a_model_that_vanished_is_named(run: Path) -> None:
    (run / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"model\.safetensors must be a file that can be read"):
        evaluate_run(run)


@pytest.mark.parametrize("stop", [1, 7])
def test_a_file_of_summaries_goes_on_where_it_was(files: tuple[Path, Path], tmp_path: Path, stop: int) -> None:
    evaluate_predictions(*files, results=Results(tmp_path / "whole"))
    with pytest.raises(Interrupted):
        evaluate_predictions(*files, results=Results(tmp_path / "parts"), check=Stop(stop))
    evaluate_predictions(*files, results=Results(tmp_path / "parts", resume=True))
    for name in ("documents.jsonl", "report.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_file_of_summaries_has_its_results_beside_it(files: tuple[Path, Path]) -> None:
    notes: list[str] = []
    found = evaluate_predictions(
        *files, overrides=["evaluate.lead_words=2"], report=lambda progress: notes.append(progress.note)
    )
    assert found.rows[0].system == "ours"
    assert found.rows[1].system == "LEAD-2"
    assert found.notes[:2] == ("ours.jsonl: text in 'summary', id in 'id'", "references.jsonl: " + found.notes[1][18:])
    assert [note for note in notes if note] == list(found.notes[:2])
    assert found.notes[2:] == (
        "LEAD-8 is as long as the references on average",
        "LEAD-5 is as long as the summaries of ours on average",
    )
    assert (files[0].parent / "ours-evaluation" / "report.json").exists()


def test_missing_summaries_are_an_error_unless_they_are_skipped(files: tuple[Path, Path]) -> None:
    files[0].write_text("".join(files[0].read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(DataError, match=r"got none for 1 \(rfc0\)"):
        evaluate_predictions(*files)
    assert evaluate_predictions(*files, skip_missing=True).documents == DOCUMENTS - 1


def test_a_model_without_documents_needs_some(run: Path) -> None:
    with pytest.raises(RecipeError, match=r"data\.prepared must be a folder of prepared data, got nothing: .*tiny was"):
        evaluate_run(run, overrides=["data.source=null", "data.prepared=null"])
    assert evaluate_run(run, overrides=["data.source=null", "evaluate.resamples=100"]).documents == DOCUMENTS


def test_another_run_is_compared_with(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must contain the results of an evaluation .* evaluate it first"):
        evaluate_run(run, results=Results(tmp_path / "now", against=[tmp_path]))
    evaluate_run(run)
    found = evaluate_run(run, results=Results(tmp_path / "now", against=[run]))
    assert [(each.slice, each.rouge["rouge1"].difference.mean) for each in found.differences] == [
        (part, 0.0) for part in dict.fromkeys(row.slice for row in found.rows)
    ]
    assert "differences" in json.loads((tmp_path / "now" / "report.json").read_text())


def test_several_runs_are_compared_pair_by_pair(run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        evaluate_run(run, results=Results(tmp_path / name))
    found = evaluate_run(run, results=Results(against=[tmp_path / "one", tmp_path / "two"]))
    pairs = [("tiny", "one"), ("tiny", "two"), ("one", "two")]
    assert [(each.system, each.other) for each in found.differences if each.slice == "all"] == pairs
    again = evaluate_run(run, results=Results(against=[tmp_path / "one", tmp_path / "one"]))
    assert {each.other for each in again.differences} == {str(tmp_path / "one")}


def test_an_equal_lead_is_one_row(run: Path) -> None:
    found = evaluate_run(run, overrides=["evaluate.lead_words=5"])
    assert [row.system for row in found.rows][:3] == ["tiny", "LEAD-5", "LEAD-8"]
    assert "LEAD-5 is as long as the summaries of tiny on average" in found.notes
    assert not next(row for row in found.rows if row.system == "LEAD-5").against_lead


def test_baselines_are_as_long_as_each_summary(run: Path, tmp_path: Path) -> None:
    report = evaluate_run(run, overrides=["evaluate.lead_words=summary"], results=Results(html=tmp_path / "a.html"))
    named = [f"{name}, equal length" for name in ("LEAD", "LexRank", "TextRank", "random")]
    assert [row.system for row in report.rows][:6] == ["tiny", named[0], "LEAD-8", *named[1:]]
    assert "baselines of equal length have as many words as the summary of tiny of each document" in report.notes
    assert not any("summaries of tiny on average" in note for note in report.notes)
    assert next(difference.other for difference in report.baselines if difference.slice == "all") == named[0]
    assert "outline LEAD, equal length" in (tmp_path / "a.html").read_text()
    lengths = [
        json.loads(line)["systems"] for line in (run / "evaluation/test/documents.jsonl").read_text().splitlines()
    ]
    assert all(systems["lead"]["words"] == systems["model"]["words"] for systems in lengths)


def test_lead_as_long_as_the_summaries_on_average_stays_beside_other_baselines_of_equal_length(run: Path) -> None:
    chosen = "evaluate.baselines=[lead_summaries,lexrank]"
    report = evaluate_run(run, overrides=["evaluate.lead_words=summary", chosen])
    assert [row.system for row in report.rows][:3] == ["tiny", "LEAD-5", "LexRank, equal length"]


def test_wrong_settings_of_a_file_are_reported_before_it_is_read(files: tuple[Path, Path]) -> None:
    with pytest.raises(
        RecipeError, match=r"(?s)2 problems.*evaluate\.lead_wrds is not .*did you mean lead_words.*x is"
    ):
        evaluate_predictions(Path("missing"), files[1], overrides=["evaluate.lead_wrds=7", "x=1"])
    with pytest.raises(RecipeError, match=r"--set must look like section\.setting=value"):
        evaluate_predictions(*files, overrides=["lead_words"])


def test_the_report_is_written_to_files(run: Path, tmp_path: Path) -> None:
    results = Results(html=tmp_path / "a.html", latex=tmp_path / "a.tex", csv=tmp_path / "a.csv")
    found = evaluate_run(run, results=results)
    markup = (tmp_path / "a.html").read_text()
    assert markup.count("<article>") == DOCUMENTS
    assert example(3).document.split("\n")[0] in markup
    assert found.signature in (tmp_path / "a.tex").read_text()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + len(found.rows)
    (tmp_path / "a.html").unlink()
    evaluate_run(run, results=replace(results, resume=True))
    assert (tmp_path / "a.html").read_text() == markup


def test_files_that_cannot_be_written_are_named_before_the_model_is_asked(run: Path, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "file"):
        for results in (Results(html=path), Results(latex=path), Results(csv=path)):
            with pytest.raises(RecipeError, match="must be a file in an existing folder, got none; make the folder"):
                evaluate_run(run, results=results)
    (tmp_path / "prepared" / "page.html").touch()
    evaluate_run(run, limit=2, results=Results(tmp_path / "other", html=tmp_path / "prepared" / "page.html"))
    listed = tmp_path / "prepared" / "test" / "texts.jsonl"
    before = listed.read_bytes()
    with pytest.raises(RecipeError, match=r"texts\.jsonl must not be a file that .*manifest\.json lists"):
        evaluate_run(run, results=Results(csv=listed))
    assert listed.read_bytes() == before
    assert not (run / "evaluation").exists()


def test_bertscore_needs_a_model(run: Path) -> None:
    with pytest.raises(RecipeError, match=r"evaluate\.bertscore_model must be the folder of .* add --set evaluate"):
        evaluate_run(run, overrides=["evaluate.metrics=[bertscore]"])
    with pytest.raises(RecipeError, match=r"bertscore_model must be the folder of a model .* got missing; copy one"):
        evaluate_run(run, overrides=["evaluate.metrics=[bertscore]", "evaluate.bertscore_model=missing"])
    assert not (run / "evaluation").exists()
