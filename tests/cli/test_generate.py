import json
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sumpool.cli.app import app
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.manifest import FileDigest, Manifest

RECIPE = """\
name: letters
task: language_modeling
data: {source: {kind: plain, path: text.txt}}
model: {dim: 16, heads: 2, feed_forward: 32, layers: [1, 1, 1], boundaries: [{kind: whitespace}], length: 32}
train: {steps: 40, batch_tokens: 512, learning_rate: 0.02, device: cpu}
evaluate: {window: 32, step: 8, resamples: 100}
generate: {length: 30}
"""
pytestmark = pytest.mark.slow
CLASSIFIER = "name: films\ntask: classification\n"


def run(*words: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, words, input=stdin)


@pytest.fixture(scope="module", autouse=True)
def corner(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Work in a folder with two trained language models and what is found to be a classifier."""
    folder = tmp_path_factory.mktemp("letters")
    draw = random.Random(1)
    text = " ".join(draw.choice(["the", "old\x1b[2J", "fox", "sl\u00e4pt", "here"]) for _ in range(3000))
    (folder / "text.txt").write_text(text)
    (folder / "letters.yaml").write_text(RECIPE)
    (folder / "runs/films").mkdir(parents=True)
    (folder / "runs/films/recipe.yaml").write_text(CLASSIFIER)
    Manifest({"recipe.yaml": FileDigest.of(folder / "runs/films/recipe.yaml")}).write(folder / "runs/films")
    (folder / "runs/films/model.safetensors").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (["letters.yaml"], ["letters.yaml", "--out", "runs/other", "--set", "seed=2"]):
            result = run("train", *words)
            assert result.exit_code == 0, result.output
        newest = Path("runs/letters/model.safetensors")
        os.utime(newest, (newest.stat().st_mtime + 60,) * 2)


@pytest.fixture(autouse=True)
def _in_the_corner(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.chdir(sorted(tmp_path_factory.getbasetemp().glob("letters*"))[-1])


def text_of(*words: str, stdin: str | bytes | None = None) -> str:
    result = run("generate", *words, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_text_continues_the_prompt_by_the_settings() -> None:
    text = text_of("runs/letters", "the old")
    assert text.startswith("the old")
    assert text.endswith("\n")
    Path("prompt.txt").write_text("the old")
    assert text_of("runs/letters", "--file", "prompt.txt") == text
    assert (
        text_of("runs/letters", "-", stdin="the old") == text_of("runs/letters", "--file", "-", stdin="the old") == text
    )
    assert text_of("runs/letters", "the old", "--seed", "2") != text
    greedy = text_of("runs/letters", "the", "--temperature", "0")
    assert greedy == text_of("runs/letters", "the", "--temperature", "0", "--seed", "9")


def test_every_text_has_a_seed_and_begins_from_nothing_with_the_newest_run() -> None:
    result = run("generate", "--count", "3", "--seed", "5", "--length", "20", "--json")
    assert "model: runs/letters (the newest language model)" in result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["prompt"], row["seed"], row["tokens"], len(row["text"])) for row in rows] == [
        ("", seed, 20, 20) for seed in (5, 6, 7)
    ]
    assert len({row["text"] for row in rows}) == 3
    assert json.loads(text_of("runs/letters", "--seed", "6", "--length", "20", "--json"))["text"] == rows[1]["text"]


def test_text_is_inert_and_unknown_characters_are_counted() -> None:
    result = run("generate", "runs/letters", "old\x1b[2J QQ", "--length", "300")
    assert "\x1b" not in result.stdout
    assert result.stdout.startswith("old\\u001b[2J")
    assert "2 characters of the prompt are not in the vocabulary" in result.stderr


def test_characters_come_as_they_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    monkeypatch.setattr("sumpool.cli.generate.show", writes.append)
    text_of("runs/letters", "the ", "--length", "10")
    assert writes[0] == "the "
    assert [len(part) for part in writes[1:]] == [1] * 10


def test_wrong_arguments_are_named() -> None:
    for words, kind, message in (
        (("runs/films", "a"), CheckpointError, "must be a run of task: language_modeling, got task: classification"),
        (("nowhere", "a"), CheckpointError, "nowhere must be a run folder with recipe.yaml"),
        (("runs/letters", "a", "--file", "b"), RecipeError, "a prompt must be given once, got an argument and --file"),
        (("runs/letters", "--file", "nowhere"), DataError, "nowhere must be a file that can be read"),
        (("runs/letters", "a", "--temperature", "-1"), RecipeError, "generate.temperature must be"),
        (("runs/letters", "a", "--count", "2", "--seed", str(2**31 - 1)), RecipeError, "--seed must leave 2 seeds"),
    ):
        result = run("generate", *words)
        assert isinstance(result.exception, kind)
        assert message in str(result.exception)


def test_a_prompt_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("generate", "runs/letters", "-", stdin=b"\xff\xfe")
    assert isinstance(result.exception, DataError)
    assert "- must be text in UTF-8, got other bytes at 0; convert it" in str(result.exception)
    monkeypatch.setattr("sumpool.cli.generate._MOST_BYTES", 3)
    result = run("generate", "runs/letters", "-", stdin="four")
    assert "- must have at most 3 bytes, got more; give the end of it" in str(result.exception)


@pytest.mark.parametrize("command", [("summarize", "--model"), ("classify", "--model")])
def test_other_commands_refuse_language_models(command: tuple[str, str]) -> None:
    result = run(*command, "runs/letters", stdin="a text")
    assert isinstance(result.exception, CheckpointError)
    assert "got task: language_modeling, for sumpool generate and evaluate only" in str(result.exception)


def test_an_evaluation_prints_scores_segments_and_a_sample() -> None:
    result = run("evaluate", "runs/letters")
    assert result.exit_code == 0, result.output
    for words in ("bits per character", "shortening factor", "perplexity per word", "segments:", "95 % interval"):
        assert words in result.stdout
    assert "|fox |" in result.stdout
    assert "old\\u001b[2J |" in result.stdout
    assert "\x1b" not in result.stdout
    report = json.loads(run("evaluate", "runs/letters", "--json", "--limit", "20").stdout)
    assert report["windows"] == 20
    assert report["bpc"]["low"] < report["bpc"]["mean"] < report["bpc"]["high"]
    assert report["segments"]["segments"] > 10
    assert report == json.loads(Path("runs/letters/evaluation/test/report.json").read_text())


def test_runs_are_compared_on_their_windows() -> None:
    result = run("evaluate", "runs/letters", "runs/other")
    assert result.exit_code == 0, result.output
    assert "differences on the same windows" in result.stdout
    assert "letters - runs/other" in result.stdout


def test_options_of_summaries_are_refused() -> None:
    for words, message in (
        (("runs/letters", "--html", "page.html"), "a language model must be evaluated with --split, --limit, --out"),
        (("runs/letters", "runs/films"), "several runs must be summarisers or language models, all of one task, got"),
        (("runs/letters", "runs/other", "--out", "both"), "--out must come with one run, got 2"),
        (
            ("runs/letters", "--references", "c.jsonl"),
            "--references must come with files of summaries, got runs/letters",
        ),
    ):
        result = run("evaluate", *words)
        assert isinstance(result.exception, RecipeError)
        assert message in str(result.exception)
