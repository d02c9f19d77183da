"""The commands one after the other on a tiny corpus: arguments, streams, exit codes."""

import json
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.run_files import USED
from tests.cli.conftest import run
from tests.conftest import read_lines, story


@pytest.fixture(scope="module")
def corner(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the documents, the recipe and a copy of the run of `trained`."""
    folder = tmp_path_factory.mktemp("corner")
    shutil.copytree(trained / "run", folder / "runs" / "toy")
    for name in ("rows.jsonl", "toy.yaml"):
        shutil.copy(trained / name, folder)
    (folder / "runs" / USED).write_text("toy\n")
    return folder


@pytest.fixture(autouse=True)
def inside(corner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corner)


def test_training_a_finished_run_does_nothing() -> None:
    result = run("train", "toy.yaml")
    assert (result.exit_code, result.stdout) == (0, "runs/toy\n")
    assert "is finished" in result.stderr
    assert "next: sumpool summarize --model runs/toy doc.txt" in result.stderr


def test_standard_input_and_json_lines() -> None:
    result = run("summarize", "--json", "--set", "summarize.on_overflow=truncate", stdin=story(2, 50))
    row = json.loads(result.stdout)
    assert row["id"] == "-"
    assert row["tokens_read"] == 64
    assert "read 64 of" in result.stderr
    best = json.loads(run("summarize", "--json", stdin=story(2, 50)).stdout)
    assert 0 < best["tokens_read"] <= 64 < best["tokens_total"]


def test_several_documents_print_their_names_and_reasons_of_failures() -> None:
    Path("empty.txt").touch()
    Path("doc.txt").write_text(story(2, 5))
    result = run("summarize", "empty.txt", "doc.txt")
    assert isinstance(result.exception, DataError)
    assert str(result.exception) == "1 of 2 documents have no summary: empty.txt; see the reasons above"
    assert result.stdout.startswith("doc.txt\n")
    assert "empty.txt: no summary: " in result.stderr


def test_limit_and_file_with_resume() -> None:
    first = run("summarize", "rows.jsonl", "--limit", "3", "--out", "out.jsonl")
    assert (first.exit_code, first.stdout) == (0, "")
    again = run("summarize", "rows.jsonl", "--limit", "5", "--out", "out.jsonl", "--resume")
    assert again.exit_code == 0
    assert [row["id"] for row in read_lines(Path("out.jsonl"))] == ["d0", "d1", "d2", "d3", "d4"]
    for option, name in (("--set=summarize.beams=1", "beams to go on, got '2'"), ("--fast", "fast to go on, got 'f")):
        other = run("summarize", "rows.jsonl", "--out", "out.jsonl", "--resume", option)
        assert f"out.jsonl.identity must hold the same summarize.{name}" in str(other.exception)


def test_a_broken_document_is_named_before_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.inference.loading.load_for_generation", None)
    result = run("summarize", "nowhere.txt")
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith("nowhere.txt must be a file that can be read")
    Path("broken.jsonl").write_text("[]\n")
    result = run("summarize", "broken.jsonl")
    assert str(result.exception) == "no document could be summarised; see the reasons above"
    assert " no summary: broken.jsonl:1 must be a JSON object, got list" in result.stderr
    assert result.stderr.count("broken.jsonl:1") == 1


def test_an_unreadable_argument_is_named_first_and_leaves_the_others() -> None:
    Path("doc.txt").write_text(story(2, 5))
    result = run("summarize", "doc.txt", "nowhere.txt")
    lines = [line.partition(" ")[2] for line in result.stderr.splitlines()]
    assert lines[0].startswith("nowhere.txt must be a file that can be read")
    assert lines[1].startswith("model: ")
    assert result.stdout.startswith("doc.txt\n")
    assert str(result.exception).startswith("1 of 2 documents have no summary: nowhere.txt")


@pytest.mark.parametrize("mode", ["extractive", "abstractive"])
def test_evidence_and_explanation(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("doc.txt").write_text(story(2, 5))
    options = ("summarize", "doc.txt", "--mode", mode)
    shown = run(*options, "--evidence")
    assert shown.exit_code == 0, shown.output
    assert "%  line 1: " in shown.stdout
    row = json.loads(run(*options, "--evidence", "--json").stdout)
    assert row["evidence"][0]["sources"][0]["line"] == 1
    assert run(*options, "--explain", "page.html").exit_code == 0
    assert 'id="document"' in Path("page.html").read_text()
    unusable = run(*options, "--explain", "/dev/full/page.html")
    assert isinstance(unusable.exception, RecipeError)
    assert "/dev/full" in str(unusable.exception)
    Path("two.jsonl").write_text('{"id": "a", "document": "Hosts send."}\n' * 2)
    for documents in (["two.jsonl"], ["doc.txt", "doc.txt"]):
        monkeypatch.setattr(
            "sumpool.documents.read.parse_documents", Mock(side_effect=AssertionError("files are read"))
        )
        several = run("summarize", *documents, "--explain", "page.html")
        assert isinstance(several.exception, RecipeError)
        assert str(several.exception).startswith("page.html must explain one document, got several; name one")
    assert not several.stdout, "documents are counted before they are summarised"


def test_files_with_the_same_note_share_a_line() -> None:
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("Hosts send packets to gateways.")
    result = run("summarize", "--fast", "a.txt", "b.txt", "--out-dir", "notes", "--format", "markdown", "--title")
    assert Path("notes/a.txt.md").read_text() == "# a.txt\n\nHosts send packets to gateways.\n"
    assert "the text is not longer than a summary: a.txt, b.txt (2)\n" in result.stderr
    assert result.stderr.count("not longer") == 1
    result = run("summarize", "--fast", "a.txt", "b.txt", "--length", "9w")
    assert "b.txt: asked for 9 words, whole sentences of prose give 5\n" in result.stderr
    assert result.stdout.count("Hosts send packets to gateways.") == 2


def test_notes_on_a_digest_name_the_document_once() -> None:
    Path("a.md").write_text(f"# Rain\n\n{story(1, 4)}\n\n# References\n\n{story(2, 2)}\n")
    Path("b.txt").write_text(story(3, 4))
    Path("blank.txt").write_text(" \n")
    result = run("summarize", "--fast", "--together", "a.md", "b.txt", "blank.txt")
    assert str(result.exception).startswith("1 of 2 documents have no summary: blank.txt")
    notes = [line for line in result.stderr.splitlines() if "references and appendices" in line]
    assert [re.sub(r"\d+", "9", note.partition(" ")[2]) for note in notes] == [
        "a.md: 9 words of references and appendices left out"
    ]


def test_evaluate_prints_a_table_and_its_signature() -> None:
    result = run("evaluate", "runs/toy", "--split", "validation", "--set", "evaluate.resamples=100")
    assert result.exit_code == 0, result.output
    scores, lengths, *_, wins, _, settings = result.stdout.split("\n\n")
    assert scores.split()[:4] == ["slice", "system", "ROUGE-1", "ROUGE-2"]
    assert lengths.split()[:2] == ["slice", "system"]
    assert {"documents", "words"} <= set(lengths.split())
    assert wins.splitlines()[1].split()[:4] == ["compared", "with", "ROUGE-1", "ROUGE-Lsum"]
    assert "stem" in settings
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_evaluate_scores_summaries_of_a_file() -> None:
    words = ("evaluate", "rows.jsonl", "--references", "rows.jsonl", "--json")
    result = run(*words, "--out", "scores", "--set", "evaluate.resamples=100", "--set", "evaluate.tokenizer=unicode")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["documents"] == 60
    assert "words:Unicode" in report["signature"]
    files = ("--html", "scores.html", "--csv", "scores.csv", "--latex", "scores.tex")
    Path("short.txt").write_text("A router.\n" * 60)
    quick = ("--set", "evaluate.baselines=[lead]")
    result = run("evaluate", "rows.jsonl", "short.txt", *words[2:4], *files, "--as", "Ours", "--as", "GPT_me", *quick)
    assert result.exit_code == 0, result.output
    assert "Ours minus other systems, on each document" in result.stdout
    assert Path("scores.html").read_text().startswith("<!doctype html>")
    assert r"GPT\_me & " in Path("scores.tex").read_text()
    assert "all,GPT_me,60," in Path("scores.csv").read_text()


def test_user_errors_have_a_message() -> None:
    references = ("--references", "rows.jsonl")
    for words, kind, sentence in (
        (("train", "toy.yaml", "--set", "train.stpes=3"), RecipeError, "did you mean steps?"),
        (("summarize", "doc.txt", "--model", "runs"), CheckpointError, "runs must be a run folder"),
        (
            ("summarize", "doc.txt", "--out", "a", "--out-dir", "b"),
            RecipeError,
            "one of --out, --out-dir and --explain",
        ),
        (("evaluate", "rows.jsonl"), RecipeError, "rows.jsonl must come with a run folder, or with --references FILE"),
        (("evaluate", *references), RecipeError, "--references must come with files of summaries"),
        (("evaluate", "rows.jsonl", *references, "--verify"), RecipeError, "--verify must come with a run"),
        (("evaluate", "nowhere.jsonl", *references), DataError, "nowhere.jsonl must"),
        (("evaluate", "runs", "nowhere.txt"), RecipeError, "nowhere.txt must be a run folder or a file of summaries"),
    ):
        result = run(*words)
        assert isinstance(result.exception, kind)
        assert sentence in str(result.exception)


@pytest.mark.slow
def test_the_costs_of_a_sweep_are_estimated() -> None:
    lines = [f"  {line}\n" for line in Path("toy.yaml").read_text().splitlines()[1:]]
    recipe = "".join(lines).replace("steps: 4, ", "")
    Path("sweep.yaml").write_text(
        f"sweep: two\nsource_tokens: 100\nrecipe:\n{recipe}rows: {{one: {{}}, two: {{train.clip: 0.5}}}}\n"
    )
    words = ("train", "sweep.yaml", "--set", "select.enabled=false")
    dry = run(*words, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert [line.split()[0] for line in dry.stdout.splitlines()[2:]] == ["one-seed1", "two-seed1", "all"]
    assert not Path("runs/two").exists()
    failing = run(*words, "--dry-run", "--set", "train.trainable=[nothing]")
    assert "must match names of weights" in failing.stdout


def test_rows_are_read_from_the_field_of_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"document": "The router is here. " * 9, "body": "The packet of the host is lost. " * 9}
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(row)}\n")

    def summary(*options: str) -> str:
        result = run("summarize", str(tmp_path / "x.jsonl"), "--mode", "extractive", *options)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "router" in summary()
    monkeypatch.setattr("sumpool.inference.run_files.read_json", lambda *_: {"fields": {"document": "body"}})
    assert "packet" in summary()
    assert "router" in summary("--field", "document")
