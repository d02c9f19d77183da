import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from sumpool.data.config import Example
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.shards import TextsWriter
from sumpool.documents.document import Document
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.evaluation.task import Results
from sumpool.inference.loading import LoadedModel
from sumpool.inference.summary import Summary
from sumpool.progress import Progress, no_op
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.tasks.summarization import evaluate
from sumpool.tasks.summarization.evaluate import FileFormat, evaluate_systems, read_as_file
from tests.conftest import Stop, read_lines, write_lines

DOCUMENTS = 12
SYSTEMS = ("tiny", "LEAD-3", "LexRank-3", "TextRank-3", "random-3", "oracle-3")


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
    ours = [{"id": each.id, "summary": written(each.document)} for each in examples]
    theirs = [{"id": each.id, "document": each.document, "summary": each.summary} for each in examples]
    return write_lines(tmp_path / "ours.jsonl", ours), write_lines(tmp_path / "references.jsonl", theirs)


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

    def find_model(folder: Path, overrides: tuple[str, ...]) -> tuple[Path, Recipe]:
        return folder, load_recipe(tiny_recipe, [f"data.prepared={prepared}", *overrides])

    def load_for_generation(folder: Path, overrides: tuple[str, ...]) -> LoadedModel:
        return cast(LoadedModel, SimpleNamespace(folder=folder, recipe=find_model(folder, overrides)[1]))

    monkeypatch.setattr(evaluate, "find_model", find_model)
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


def test_a_run_is_evaluated_beside_its_baselines(run: Path) -> None:
    found = evaluate_systems([run], overrides=["evaluate.resamples=100", "evaluate.lead_words=3"])
    assert [(row.slice, row.system) for row in found.rows] == [
        (part, system) for part in ("all", "low-leak") for system in SYSTEMS
    ]
    assert found.documents == DOCUMENTS
    assert found.rows[0].rouge["rouge1"].mean > found.rows[1].rouge["rouge1"].mean
    assert found.notes == ("12 of 12 documents are longer than the model reads; it read 75% of a document on average",)
    words = {row.system: row.words for row in found.rows}
    assert words["LEAD-3"] == 3
    assert words["tiny"] == 5
    assert "LEAD-3 words" in found.signature
    assert "100 resamples" in found.signature


def test_results_are_files_that_need_no_model_any_more(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = evaluate_systems([run])
    monkeypatch.delattr(evaluate, "load_for_generation")
    assert evaluate_systems([run], results=Results(resume=True)) == found
    folder = run / "evaluation" / "test"
    lines = read_lines(folder / "documents.jsonl")
    assert [line["id"] for line in lines] == [f"rfc{number}" for number in range(DOCUMENTS)]
    assert lines[3]["summary"] == written(example(3).document)
    assert set(lines[3]["systems"]) == {*("model", "lead", "lexrank", "textrank", "random", "oracle")}
    assert (folder / "report.json").read_text() == found.to_json()


def test_the_shipped_model_stays_without_results(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.tasks.summarization.evaluate.SHIPPED", run)
    monkeypatch.chdir(tmp_path)
    evaluate_systems([run])
    assert (tmp_path / "evaluation/test/report.json").is_file()
    assert not (run / "evaluation").exists()


def test_the_same_summaries_give_the_same_table_from_a_file(run: Path, files: tuple[Path, Path]) -> None:
    ours, theirs = evaluate_systems([run]), evaluate_systems([files[0]], references=files[1])
    assert [row.rouge for row in ours.rows] == [row.rouge for row in theirs.rows]
    assert ours.differences[0].rouge == theirs.differences[0].rouge
    assert ours.signature == theirs.signature


@pytest.mark.parametrize("stop", [1, 5, 11, 12])
def test_a_run_that_was_stopped_goes_on_where_it_was(run: Path, tmp_path: Path, stop: int) -> None:
    evaluate_systems([run], results=Results(tmp_path / "whole"))
    with pytest.raises(Interrupted):
        evaluate_systems([run], results=Results(tmp_path / "parts"), check=Stop(stop))
    unfinished = tmp_path / ".parts.incomplete"
    done = (unfinished / "documents.jsonl").read_bytes()
    assert done.count(b"\n") == stop
    (unfinished / "documents.jsonl").write_bytes(done + b'{"id": "rfc')  # and a line was cut short
    seen: list[Progress] = []
    evaluate_systems([run], results=Results(tmp_path / "parts", resume=True), report=seen.append)
    assert [progress.done for progress in seen] == list(range(stop, DOCUMENTS + 1))
    for name in ("documents.jsonl", "report.json", "evaluation.json", "manifest.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_another_model_or_setting_is_not_added_to_the_same_lines(run: Path) -> None:
    evaluate_systems([run])
    evaluate_systems([run], overrides=["summarize.batch_tokens=100"], results=Results(resume=True))  # changes nothing
    with pytest.raises(DataError, match="must hold the same settings to go on"):
        evaluate_systems([run], overrides=["evaluate.lead_words=7"], results=Results(resume=True))
    with pytest.raises(DataError, match="must hold the same decoding to go on"):
        evaluate_systems([run], overrides=["summarize.beams=1"], results=Results(resume=True))
    with pytest.raises(
        DataError, match="must hold the same documents to go on, got '12 of test' there and '3 of test'"
    ):
        evaluate_systems([run], limit=3, results=Results(resume=True))
    (run / "model.safetensors").write_bytes(b"other")
    with pytest.raises(DataError, match="must hold the same model to go on"):
        evaluate_systems([run], results=Results(resume=True))


@pytest.mark.parametrize("kind", ["text", "html", "pdf"])
def test_documents_are_read_from_files(run: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    read: list[Document] = []

    def generate(documents: Iterable[Document], *_: object, **__: object) -> Iterator[Summary]:
        for document in documents:
            read.append(document)
            yield summary(document)

    evaluate_systems([run])
    replace_pipeline(monkeypatch, generate)
    evaluate_systems([run], overrides=[f"evaluate.files={kind}"])
    assert len(read) == DOCUMENTS
    assert read[0].id.startswith("rfc0.")
    assert read[3].blocks
    assert read[3].text.split() == example(3).document.split()
    lines = (run / "evaluation" / "test" / "documents.jsonl").read_text().splitlines()
    assert json.loads(lines[3])["id"] == "rfc3"
    with pytest.raises(DataError, match="files"):
        evaluate_systems([run], results=Results(resume=True))


def test_a_limit_takes_documents_from_everywhere(run: Path) -> None:
    assert evaluate_systems([run], limit=3).documents == 3
    lines = (run / "evaluation" / "test" / "documents.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["rfc0", "rfc4", "rfc8"]
    assert evaluate_systems([run], limit=100).documents == DOCUMENTS


def test_a_split_without_documents_is_an_error(run: Path, tmp_path: Path) -> None:
    with TextsWriter(tmp_path / "prepared", "validation"):
        pass
    with pytest.raises(DataError, match="validation must hold documents to evaluate, got none; take another split"):
        evaluate_systems([run], "validation")


def test_a_file_of_summaries_goes_on_where_it_was(files: tuple[Path, Path], tmp_path: Path) -> None:
    evaluate_systems([files[0]], references=files[1], results=Results(tmp_path / "whole"))
    with pytest.raises(Interrupted):
        evaluate_systems([files[0]], references=files[1], results=Results(tmp_path / "parts"), check=Stop(7))
    evaluate_systems([files[0]], references=files[1], results=Results(tmp_path / "parts", resume=True))
    for name in ("documents.jsonl", "report.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_file_of_summaries_has_its_results_beside_it(files: tuple[Path, Path]) -> None:
    notes: list[str] = []
    found = evaluate_systems(
        [files[0]],
        references=files[1],
        overrides=["evaluate.lead_words=2"],
        report=lambda progress: notes.append(progress.note),
    )
    assert found.rows[0].system == "ours"
    assert found.rows[1].system == "LEAD-2"
    assert found.notes[:2] == ("ours.jsonl: text in 'summary', id in 'id'", "references.jsonl: " + found.notes[1][18:])
    assert [note for note in notes if note] == list(found.notes[:2])
    assert found.notes[2:] == ()
    assert (files[0].parent / "ours-evaluation" / "report.json").exists()


def test_a_model_without_documents_needs_some(run: Path) -> None:
    with pytest.raises(RecipeError, match=r"data\.prepared must be a folder of prepared data, got nothing: .*tiny was"):
        evaluate_systems([run], overrides=["data.source=null", "data.prepared=null"])
    assert evaluate_systems([run], overrides=["data.source=null", "evaluate.resamples=100"]).documents == DOCUMENTS


def test_systems_are_rows_of_one_table(run: Path, tmp_path: Path) -> None:
    """Values are those of rouge-score."""
    texts = [" ".join(example(number).document.split()[:6]) for number in range(DOCUMENTS)]
    (tmp_path / "first.txt").write_text("\n".join(texts))
    rows = "".join(f'rfc{number},"Hosts send {number}, datagrams."\n' for number in reversed(range(DOCUMENTS)))
    (tmp_path / "other.csv").write_text("id,prediction\n" + rows)
    targets = [run, tmp_path / "first.txt", tmp_path / "other.csv"]
    outputs = Results(latex=tmp_path / "a.tex", csv=tmp_path / "a.csv", html=tmp_path / "a.html")
    found = evaluate_systems(targets, names=["ours", "A & B"], results=outputs)
    assert [row.system for row in found.rows if row.slice == "all"][:4] == ["ours", "A & B", "other", "LEAD-60"]
    scorer = RougeScorer(["rouge1", "rouge2"], use_stemmer=True)
    written_texts = {
        "ours": [written(example(number).document) for number in range(DOCUMENTS)],
        "A & B": texts,
        "other": [f"Hosts send {number}, datagrams." for number in range(DOCUMENTS)],
    }
    kinds = ("rouge1", "rouge2")
    f1s = {
        (system, kind): np.array(
            [scorer.score(example(number).summary, text)[kind].fmeasure for number, text in enumerate(summaries)]
        )
        for system, summaries in written_texts.items()
        for kind in kinds
    }
    for row in found.rows[:3]:
        assert [row.rouge[kind].mean for kind in kinds] == pytest.approx(
            [f1s[row.system, kind].mean() for kind in kinds]
        )
    tests = {item.other: item for item in found.differences if item.slice == "all"}
    assert {item.system for item in found.differences} == {"ours"}
    for other, kind in product(("A & B", "other"), kinds):
        test, paired = tests[other].rouge[kind], f1s["ours", kind] - f1s[other, kind]
        assert test.difference.mean == pytest.approx(paired.mean())
        assert (test.wins, test.losses) == ((paired > 1e-9).sum(), (paired < -1e-9).sum())
    assert r"A \& B & " in (tmp_path / "a.tex").read_text()
    table = (tmp_path / "a.csv").read_text()
    assert "all,A & B,12," in table
    assert "all,other,12," in table
    assert "<h1>Evaluation of ours, A &amp; B, other</h1>" in (tmp_path / "a.html").read_text()
    assert json.loads((tmp_path / "other-evaluation" / "report.json").read_text())["rows"][0]["system"] == "other"


def test_the_others_are_compared_with_a_chosen_row(run: Path, files: tuple[Path, Path]) -> None:
    ours, references = files
    other = ours.with_name("other.txt")
    other.write_text("hosts\n" * DOCUMENTS)
    for against, name in ((str(other), "other"), ("ours", "ours"), ("LEAD-60", "LEAD-60")):
        found = evaluate_systems([ours], references=references, results=Results(against=against))
        assert {item.system for item in found.differences} == {name}
        assert len(found.differences) == len(found.rows) - len({row.slice for row in found.rows})
    with pytest.raises(RecipeError, match=r"--against must be a system \(ours\) or a baseline, got LED"):
        evaluate_systems([ours], references=references, results=Results(against="LED"))
    with pytest.raises(RecipeError, match=r"--against must be a row of the table \(ours, LEAD-60, .*\), got LEAD-7"):
        evaluate_systems([ours], references=references, results=Results(against="LEAD-7"))
    evaluate_systems([run], results=Results(against=str(ours)))
    again = evaluate_systems([run, ours.with_name("ours-evaluation")], results=Results(resume=True))
    assert [row.system for row in again.rows][:2] == ["tiny", "ours-evaluation"]
    assert again.rows[0].rouge == again.rows[1].rouge
    with pytest.raises(RecipeError, match="ours-evaluation must come after a run or a file of summaries, got results"):
        evaluate_systems([ours.with_name("ours-evaluation"), run])


def test_runs_of_one_recipe_have_different_names(run: Path, tmp_path: Path) -> None:
    other, same = tmp_path / "runs" / "other", tmp_path / "more" / "tiny"
    for copy in (other, same):
        copytree(run, copy)
    assert [row.system for row in evaluate_systems([run, other]).rows][:2] == ["tiny", "other"]
    assert [row.system for row in evaluate_systems([run, same]).rows][:2] == [str(run), str(same)]
    evaluate_systems([run, same], results=Results(tmp_path / "out"), names=["a/b", "a b"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.name[0] != ".") == ["1-a_b", "2-a_b"]
    for names in (["a", "a"], ["", "b"], ["tiny"]):
        with pytest.raises(RecipeError, match="systems must have different names, got"):
            evaluate_systems([other, run], names=names)
    with pytest.raises(RecipeError, match="--as must be given at most once per system, got 3 for 2"):
        evaluate_systems([run, other], names=["a", "b", "c"])


def test_files_of_one_folder_of_results_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    text = tmp_path / "ours.txt"
    text.write_text("hosts\n" * DOCUMENTS)
    with pytest.raises(RecipeError, match=r"systems must have different folders of results, got .*; add --out DIR"):
        evaluate_systems([files[0], text], references=files[1])
    found = evaluate_systems([files[0], text], references=files[1], results=Results(tmp_path / "out"))
    assert [row.system for row in found.rows][:2] == [str(files[0]), str(text)]


def test_documents_without_some_summary_are_left_out(files: tuple[Path, Path], run: Path) -> None:
    few = files[0].with_name("few.jsonl")
    few.write_text("".join(files[0].read_text().splitlines(keepends=True)[3:]))
    found = evaluate_systems([run, few], skip_missing=True)
    assert found.documents == DOCUMENTS - 3
    assert f"3 of {DOCUMENTS} documents lack a summary of some system" in found.notes
    limited = evaluate_systems([run, files[0]], limit=3)
    assert limited.documents == evaluate_systems([files[0]], references=files[1], limit=3).documents == 3


def test_all_systems_are_cut_to_one_length(run: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("\n".join(" ".join(example(number).document.split()) for number in range(DOCUMENTS)))
    results = Results(equal_length="shortest", html=tmp_path / "a.html")
    found = evaluate_systems([run, long], results=results)
    named = ["tiny", "long", "LEAD", "LexRank", "TextRank", "random", "oracle-3"]
    assert [row.system for row in found.rows if row.slice == "all"] == named
    assert {row.words for row in found.rows if row.system != "oracle-3"} == {5}
    assert (
        next(row for row in found.rows if row.system == "long").rouge
        == next(row for row in found.rows if row.system == "LEAD").rouge
    )
    note = "summaries, but for the oracle's, are cut to as many words as the shortest summary of the document has"
    assert note in found.notes
    assert not any("on average" in note for note in found.notes)
    again = evaluate_systems([run, long], results=Results(equal_length="references", resume=True))
    words = {row.system: row.words for row in again.rows if row.slice == "all"}
    assert (words["tiny"], words["long"], words["LEAD"], words["random"]) == (5, 8, 8, 8)
    alone = evaluate_systems([files[0]], references=files[1], results=Results(equal_length="shortest"))
    assert {row.words for row in alone.rows if row.system != "oracle-3"} == {5}
    whole = json.loads((tmp_path / "long-evaluation" / "report.json").read_text())["rows"][0]
    assert whole["words"] == len(example(0).document.split())


def test_wrong_settings_of_a_file_are_reported_before_it_is_read(files: tuple[Path, Path]) -> None:
    with pytest.raises(
        RecipeError, match=r"(?s)2 problems.*evaluate\.lead_wrds is not .*did you mean lead_words.*x is"
    ):
        evaluate_systems([Path("missing")], references=files[1], overrides=["evaluate.lead_wrds=7", "x=1"])


def test_the_report_is_written_to_files(run: Path, tmp_path: Path) -> None:
    results = Results(html=tmp_path / "a.html", latex=tmp_path / "a.tex", csv=tmp_path / "a.csv")
    found = evaluate_systems([run], results=results)
    markup = (tmp_path / "a.html").read_text()
    assert markup.count("<article>") == DOCUMENTS
    assert example(3).document.split("\n")[0] in markup
    assert found.signature in (tmp_path / "a.tex").read_text()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + len(found.rows)
    (tmp_path / "a.html").unlink()
    evaluate_systems([run], results=replace(results, resume=True))
    assert (tmp_path / "a.html").read_text() == markup


def test_files_that_cannot_be_written_are_named_before_the_model_is_asked(run: Path, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "file"):
        for results in (Results(html=path), Results(latex=path), Results(csv=path)):
            with pytest.raises(RecipeError, match="must name a file in a folder that is there, got "):
                evaluate_systems([run], results=results)
    (tmp_path / "prepared" / "page.html").touch()
    evaluate_systems([run], limit=2, results=Results(tmp_path / "other", html=tmp_path / "prepared" / "page.html"))
    listed = tmp_path / "prepared" / "test" / "texts.jsonl"
    before = listed.read_bytes()
    with pytest.raises(RecipeError, match=r"texts\.jsonl must not be a file that .*manifest\.json lists"):
        evaluate_systems([run], results=Results(csv=listed))
    assert listed.read_bytes() == before
    assert not (run / "evaluation").exists()


TEXT = """\
1. Introduction

Hosts send packets (of any size) to gateways, which forward them. A packet that is too long is dropped, and the
sender is told so in a message of its own.

- routers keep a table of addresses
- hosts keep a cache of routes & names

2. Security

An attacker who can send such messages makes a host slow, unless every message carries a secret number.
"""


@pytest.mark.parametrize("kind", ["text", "html", "pdf"])
def test_structure_and_words_survive_the_file(kind: FileFormat) -> None:
    document = read_as_file("a", TEXT * 12, kind)
    assert not document.error
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert headings[:2] == ["1. Introduction", "2. Security"]
    items = [block.text for block in document.blocks if block.kind == "list_item"]
    assert items[:2] == ["routers keep a table of addresses", "hosts keep a cache of routes & names"]
    prose = [block.text for block in document.blocks if block.kind == "paragraph"]
    assert prose[0].startswith("Hosts send packets (of any size) to gateways")
    assert prose[0].endswith("a message of its own.")
    words = document.text.split()
    assert words.count("attacker") == 12
    assert words.count("secret") == 12


def test_characters_that_a_pdf_font_lacks_are_replaced() -> None:
    assert (
        "caf\u00e9 ??"
        in read_as_file("a", "A caf\u00e9 \u8def\u7531 stands beside the station of the town.", "pdf").text
    )
