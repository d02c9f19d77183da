import re
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.errors import Interrupted
from sumpool.progress import Progress, no_op
from sumpool.recipe.load import load_any_recipe, load_recipe
from sumpool.runs.training_setup import measure_update, set_up_training
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.language_modeling.task import TASK
from sumpool.text.tokenizer import load_tokenizer
from sumpool.text.units import UnitTokenizer
from sumpool.workflows.train import dry_run, train
from tests.conftest import BARE, TOY
from tests.training.toy import CONFIG, DATA, new_model, records_of

PAPER = Path("recipes/papers/language_models").absolute()
NAMES = sorted(path.stem for path in PAPER.glob("*.yaml"))
MODELS = [name for name in NAMES if "-" not in name]
"""Recipes of text8; names of others end with their language."""


def recipe(name: str, *overrides: str) -> LanguageModelRecipe:
    loaded = load_any_recipe(PAPER / f"{name}.yaml", overrides)
    assert isinstance(loaded, LanguageModelRecipe)
    return loaded


def test_models_have_the_published_number_of_parameters() -> None:
    """41 million, and one more where boundaries are predicted."""
    for name in MODELS:
        with torch.device("meta"):
            model = LanguageModel(recipe(name).model, 27)
        millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        assert millions == pytest.approx(42 if name in ("entropy", "gumbel", "unigram") else 41, abs=0.1)
    assert set(MODELS) == {"vanilla", "none", "random", "fixed", "whitespace", "unigram", "entropy", "gumbel"}


def test_other_texts_have_the_settings_of_text8() -> None:
    """Those of the model and the training; subwords and letters are those of the language."""
    text8 = recipe("unigram")
    others = {name: recipe(name) for name in NAMES if name not in MODELS}
    for other in others.values():
        assert (other.model, other.train, other.evaluate) == (text8.model, text8.train, text8.evaluate)
        assert other.data.clean
        assert other.data.clean.lines
    assert {name: other.data.subwords for name, other in others.items()} == {
        "cc100-en": 10_000, "wiki40b-en": 10_000, "wiki40b-fi": 200, "wiki40b-he": 200, "wiki40b-vi": 10_000
    }  # fmt: skip


def test_white_space_ends_words(tmp_path: Path) -> None:
    tokenizer = UnitTokenizer.train(["a b\nc"], tmp_path, "characters", 300)
    model = TASK.build_model(recipe("whitespace", "model.dim=8", "model.heads=2"), tmp_path, tokenizer)
    ids = torch.tensor([tokenizer.encode("ab c\nb")])
    assert model.boundaries_of(ids, torch.ones_like(ids, dtype=torch.bool)).tolist() == [
        [False, False, True, False, True, False]
    ]


def test_batches_are_windows_of_the_training_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text8").write_text("abcdefgh " * 100)
    setup = set_up_training(recipe("fixed", "model.length=30", "model.dim=8"), no_op, no_op)
    batch = setup.data.batch(setup.data.training, setup.data.epochs(70)(0)[0])
    assert batch.ids.shape == (2, 30)
    assert batch.target is not None
    text = load_tokenizer(setup.prepared).decode(batch.ids[0].tolist())
    assert text in "abcdefgh " * 5
    assert len(setup.data.validation) == -(-(45 - 1) // 30)


def test_an_update_with_the_longest_batch_is_measured_and_changes_no_weight() -> None:
    model, notes = new_model(), list[Progress]()
    before = {name: weights.clone() for name, weights in model.named_parameters()}
    cost = measure_update(model, DATA, CONFIG, torch.device("cpu"), notes.append)
    assert cost.parameters == sum(weights.numel() for weights in before.values())
    longest = (CONFIG.batch_tokens // 16, 16)  # the longest documents are truncated
    assert (cost.documents, cost.source_tokens) == longest
    assert cost.target_tokens <= 5
    assert cost.seconds > 0
    assert cost.device == "cpu"
    assert [progress.note for progress in notes] == ["trying the longest batch"]
    assert all(torch.equal(weights, before[name]) for name, weights in model.named_parameters())
    assert model.embedding.weight.grad is not None


def test_check_may_stop_it_between_updates() -> None:
    with pytest.raises(Interrupted, match="stopped by SIGTERM"):
        measure_update(new_model(), DATA, CONFIG, torch.device("cpu"), no_op, Mock(side_effect=Interrupted(15)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    row = '{{"id": "d{0}", "document": "The router {0} sends a packet.", "summary": "{1}"}}\n'
    rows = [row.format(number, "A packet. " * (1 + number % 4)) for number in range(80)]
    (folder / "rows.jsonl").write_text("".join(rows))
    (folder / "toy.yaml").write_text(TOY.format(folder=folder))
    return folder


FEW_TOKENS = ("model.target_length=100", "train.steps=2", "train.batch_tokens=64")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("model.target_length=100",), ""),
        (("model.target_length=2",), "warning: 100% of the training summaries have more than model.target_length = 2"),
        (("model.target_length=12",), r"warning: \d\d\.\d% of the training summaries have more"),
        (FEW_TOKENS, "train.steps = 2 ends after .* of the first epoch, which has"),
        ((*FEW_TOKENS, "train.accumulate=50"), ""),
        pytest.param(
            ("model.target_length=100", "train.select_by=rouge2"),
            "^warning: rouge2 of .* validation documents is too uncertain to select by",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_unusual_settings_have_a_warning(folder: Path, overrides: tuple[str, ...], expected: str) -> None:
    reports: list[Progress] = []
    dry_run(load_recipe(folder / "toy.yaml", ["train.device=cpu", *overrides]), report=reports.append)
    warnings = [report.note for report in reports if report.note.startswith("warning")]
    assert len(warnings) == bool(expected)
    assert not expected or re.search(expected, warnings[0])


@pytest.mark.slow
def test_a_finished_run_goes_on_and_says_what_happens(folder: Path, tmp_path: Path) -> None:
    def go(*overrides: str) -> list[str]:
        reports: list[Progress] = []
        settings = ["train.device=cpu", "train.schedule.warmup=1", *BARE, *overrides]
        train(load_recipe(folder / "toy.yaml", settings), tmp_path / "run", report=reports.append)
        return [report.note for report in reports]

    go("train.steps=4")
    notes = go("train.steps=8")
    (note,) = [note for note in notes if note.startswith("train.steps is raised from 4 to 8")]
    assert "the cosine schedule is now that of 8 steps, so that the learning rate rises from 0.00027 to 0.00082" in note
    assert note.endswith("the result is not that of an uninterrupted run")
    assert "resuming from step 4" in notes
    assert any(note.endswith("is finished") for note in go("train.steps=8"))
    assert [record["step"] for record in records_of(tmp_path / "run", "step")] == list(range(1, 9))


def test_an_endless_schedule_goes_on_unchanged(folder: Path, tmp_path: Path) -> None:
    def raised(steps: int) -> list[str]:
        notes: list[str] = []
        settings = ["train.schedule.kind=constant", f"train.steps={steps}", *BARE]
        recipe = load_recipe(folder / "toy.yaml", settings)
        train(recipe, tmp_path / "run", report=lambda progress: notes.append(progress.note))
        return [note for note in notes if "is raised" in note]

    assert [raised(steps) for steps in (2, 4, 2)] == [
        [],
        ["train.steps is raised from 2 to 4; the result is that of an uninterrupted run"],
        [],
    ]
