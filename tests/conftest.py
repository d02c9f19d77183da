"""Fixtures shared by the tests of several packages."""

import gc
import json
import math
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from filelock import FileLock
from hypothesis import settings

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.report import DataReport, summarize_split
from sumpool.errors import Interrupted
from sumpool.io.manifest import FileDigest, Kind, Manifest
from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.recipe.task import find_task
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.training.weights import export

TINY_RECIPE = """\
name: tiny
data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 300}
model:
  dim: 16
  heads: 2
  feed_forward: 32
  source_length: 64
  target_length: 16
  encoder:
    - {attention: {kind: blockwise, block: 16}}
    - {attention: {kind: blockwise, block: 16}, pool: {kind: halving, keep: 16, scorer: {kind: linear}}}
  decoder: {layers: 1}
train: {steps: 4, batch_tokens: 256, learning_rate: 1e-3}
"""


SLOW = (
    "bench/test_peers.py",
    "browser",
    "cli/test_classify.py",
    "documents/test_corpus_object_stores.py",
    "gpu",
    "onnx",
    "pretrained",
    "pretraining",
    "running_text",
    "studies",
    "tasks/classification/test_classify.py",
    "workflows/test_teacher.py",
    "test_bart_recipes.py",
    "test_outside.py",
    "text/test_hf_tokenizer.py",
    "torture",
    "workflows/test_export_for_transformers.py",
    "workflows/test_import_model.py",
    "workflows/test_summarize_corpus.py",
)
"""Files and folders below tests/ whose tests are all slow; without --slow they are not even imported."""
TESTS = Path(__file__).parent

settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("slow", max_examples=200, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run slow tests too, and hypothesis with more examples")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("slow" if config.getoption("slow") else "fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if is_slow(collection_path) and not config.getoption("slow") else None


def is_slow(path: Path) -> bool:
    """Return whether all tests of a file are slow."""
    return path.is_relative_to(TESTS) and any(path.relative_to(TESTS).is_relative_to(name) for name in SLOW)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that are marked as slow, or run them first, as those that start processes.

    A file that takes long does not begin when all others are done.
    """
    first = {
        item.path
        for item in items
        if item.get_closest_marker("slow") or "processes" in item.path.parts or is_slow(item.path)
    }
    items.sort(key=lambda item: item.path not in first)
    if not config.getoption("slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_collection() -> None:
    """Import all tests without collections of garbage, which take a fifth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave out of all garbage collections what the tests have imported, which is half a second for each."""
    gc.freeze()
    gc.enable()


LONGEST_NAME = 60
"""Characters of a parameter that name a test."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test whose parameter is a long text after the beginning of it, so that its name fits a line."""
    name = ascii(val).removeprefix("b")[1:-1] if isinstance(val, str | bytes) else ""
    return f"{name[:LONGEST_NAME]}..." if len(name) > LONGEST_NAME else None


def prepare(recipe: BaseRecipe, **options: Any) -> Any:  # noqa: ANN401 - a report of the task
    """Prepare the data of a recipe of any task, and return the folder and the report."""
    return find_task(recipe.task).prepare(recipe, **options)


@pytest.fixture(autouse=True)
def line_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Width of printed lines, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    """Restore the number of threads, which engines in the same process change (CTranslate2), and workers (Ray).

    With another number, sums are rounded otherwise, so that a training no longer repeats one of before bit for bit.
    """
    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of the tests instead of that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUMPOOL_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture
def tiny_recipe(tmp_path: Path) -> Path:
    """A complete recipe of a model that trains in no time; it names data that is not there."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RECIPE)
    return path


@pytest.fixture(scope="module")
def small_probes() -> Iterator[None]:
    """Let a bench measure the machine itself in no time, and memory without a collection of garbage before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sumpool.training.hardware.gc", Mock())
        patch.setattr("sumpool.training.hardware._reset_high_water", lambda: None)
        patch.setattr("sumpool.bench.measures.SIDE", {"cpu": 8, "cuda": 8})
        patch.setattr("sumpool.bench.measures.BUFFER", {"cpu": 1024, "cuda": 1024})
        yield


RECIPE = """\
name: random
data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 400}
model:
  dim: 16
  heads: 2
  feed_forward: 32
  source_length: 200
  target_length: 33
  encoder:
    - {attention: {kind: blockwise, block: 16}, pool: {kind: halving, keep: 16}}
  decoder: {layers: 1}
summarize: {beams: 2, min_length: 6, max_length: 24}
"""
WORDS = "hosts gateways routers send drop packets datagrams addresses over the a network link in every no"

TOY = """\
name: toy
data: {{source: {{kind: jsonl, path: {folder}/rows.jsonl}}, prepared: {folder}/prepared, vocabulary: 320, workers: 1}}
model:
  dim: 16
  heads: 2
  feed_forward: 16
  source_length: 64
  target_length: 16
  encoder: [{{attention: {{kind: blockwise, block: 16}}}}]
  decoder: {{layers: 1}}
"""
"""A recipe of the smallest model, without training, for the documents that `write_rows` puts in a folder."""

SHARES = "rows.jsonl, validation_share: 0.1, test_share: 0.1"
"""The documents of `trained`, instead of `rows.jsonl` in `TOY`."""
TRAINED = f"""\
{TOY.replace("rows.jsonl", SHARES).replace("}}}}]", "}}, pool: {{kind: halving, keep: 16}}}}]")}\
train: {{{{steps: 4, batch_tokens: 256, validate_every: 2, rouge_documents: 2, device: cpu, precision: fp32}}}}
summarize: {{{{max_length: 8, min_length: 2, beams: 2}}}}
evaluate: {{{{resamples: 100}}}}
"""
"""The recipe of `trained`."""
BARE = ("select.enabled=false", "train.rouge_documents=0")
"""Settings of a training without the sentence ranker and without ROUGE in validation, which take most of its time."""


def story(number: int, sentences: int) -> str:
    """A text of the given length, the same one for the same number; a paragraph has four sentences."""
    choice = random.Random(number)
    told = [
        " ".join(choice.choices(WORDS.split(), k=choice.randint(4, 9))).capitalize() + "." for _ in range(sentences)
    ]
    return "\n\n".join(" ".join(told[first : first + 4]) for first in range(0, sentences, 4))


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that loads; whoever changes it takes a copy."""
    return write_run(tmp_path_factory.mktemp("runs") / "random")


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write rows as JSON lines, and return the file."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the rows of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_rows(path: Path, seed: int, count: int = 60) -> None:
    """Write documents of a few sentences, whose summaries are their first sentences, as JSON lines."""
    words = ("router", "packet", "address", "network", "sends", "receives", "drops", "header", "field", "server")
    draw, rows = random.Random(seed), []
    for number in range(count):
        sentences = [" ".join(draw.choices(words, k=8)).capitalize() + "." for _ in range(draw.randint(2, 8))]
        rows.append({"id": f"d{number}", "document": " ".join(sentences), "summary": sentences[0]})
    write_lines(path, rows)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, cache_folder: None) -> Path:  # noqa: ARG001
    """Folder with rows.jsonl, toy.yaml, prepared/ and the finished run/, made once for all processes of the tests.

    Nobody changes it: whoever changes the run takes `trained_run`.
    """
    from sumpool.workflows.train import train

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "trained"
    done = folder / "done"
    with FileLock(f"{folder}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write_rows(folder / "rows.jsonl", seed=1)
            (folder / "toy.yaml").write_text(TRAINED.format(folder=folder))
            train(load_recipe(folder / "toy.yaml"), folder / "run")
            done.touch()
    return folder


@pytest.fixture
def trained_run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run of `trained`."""
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


@pytest.fixture(scope="session")
def recipe_with(trained: Path) -> Callable[..., Recipe]:
    """Function that returns the recipe of `trained` with other settings."""
    return lambda *overrides: load_recipe(trained / "toy.yaml", overrides)


def train_with_notes(recipe: Recipe, run: Path) -> list[str]:
    """Train, and return the notes of the progress."""
    from sumpool.workflows.train import train

    heard: list[Progress] = []
    assert train(recipe, run, report=heard.append) == run
    return [progress.note for progress in heard if progress.note]


class Stop:
    """A check that counts its calls, and interrupts the work at one of them.

    Attributes:
        calls: Calls so far.
    """

    def __init__(self, at: float = math.inf) -> None:
        self.calls = 0
        self._at = at

    def __call__(self) -> None:
        self.calls += 1
        if self.calls >= self._at:
            raise Interrupted(signal.SIGTERM)


def exit_code(*words: str) -> object:
    """Run the command line in this process, and return its exit code."""
    from sumpool.cli.app import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sumpool", *words])
        try:
            main()
        except SystemExit as end:
            return end.code or 0
    return 0


@contextmanager
def restored(folder: Path) -> Iterator[None]:
    """Restore the files of a folder at the end of the block, so that the next change begins from the same files."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    try:
        yield
    finally:
        for path in folder.rglob("*"):
            if path.is_file() and path not in before:
                path.unlink()
        for path, content in before.items():
            path.write_bytes(content)


def relist(folder: Path, name: str, kind: Kind = "run") -> None:
    """List a changed file of a folder, of a run by default, in its manifest."""
    manifest = Manifest.read(folder, kind)
    Manifest({**manifest.files, name: FileDigest.of(folder / name)}, manifest.facts, kind=kind).write(folder)


def write_run(folder: Path, recipe: str = RECIPE) -> Path:
    """Write a run of a small model with random weights into a new folder."""
    folder.mkdir()
    (folder / "recipe.yaml").write_text(recipe)
    texts = [story(number, 40) for number in range(20)]
    tokenizer = SentencePieceTokenizer.train(texts, folder / "tokenizer.model", 400)
    empty = summarize_split([], [])
    DataReport(0, 0, 0, tokenizer.vocab_size, {"train": empty, "validation": empty, "test": empty}, ()).save(folder)
    torch.manual_seed(3)
    model = SummarizationModel(load_recipe(folder).model, tokenizer.vocab_size)
    with torch.no_grad():
        model.embedding.weight *= 2  # sure of what it says, so that a summary is decided and not a tie
    names = ("recipe.yaml", "tokenizer.model", "report.json")
    Manifest({name: FileDigest.of(folder / name) for name in names}).write(folder)
    export(folder, model, {})
    return folder
