from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.batches import TrainingData
from sumpool.data.config import Example
from sumpool.data.report import DataReport
from sumpool.data.shards import Item
from sumpool.errors import Interrupted
from sumpool.inference.generation import Generator
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.progress import Check, no_op
from sumpool.runs.training_setup import TrainingSetup
from sumpool.tasks.summarization.training import validation_rouge
from tests.conftest import Stop, story
from tests.training.toy import ToyDocuments


class Documents(ToyDocuments):
    """Validation documents in memory, whose references are given."""

    def __init__(self, items: list[Item], references: list[str]) -> None:
        self.items, self.references = items, references

    def text(self, number: int) -> Example:
        return Example(self.items[number].id, "", self.references[number], "validation")


@pytest.fixture(scope="module")
def loaded(run_folder: Path) -> LoadedModel:
    return load_model(run_folder, ["train.rouge_documents=3", "summarize.beams=1", "train.device=cpu"])


def items_of(loaded: LoadedModel) -> list[Item]:
    texts = [loaded.tokenizer.encode(story(number, 3 + number)) for number in range(4)]
    return [Item(str(i), np.array(ids, np.uint16), np.zeros(len(ids), np.int32), None) for i, ids in enumerate(texts)]


def rouge(loaded: LoadedModel, references: list[str], check: Check = no_op) -> Mapping[str, float]:
    documents = Documents(items_of(loaded), references)
    model = loaded.recipe.model
    data = TrainingData(documents, documents, model.source_length, model.target_length, seed=1)
    report = DataReport.load(loaded.folder)
    setup = TrainingSetup(loaded.folder, report, loaded.tokenizer, data, loaded.model)
    return validation_rouge(loaded.recipe, setup, check)()[0]


@pytest.fixture(scope="module")
def generated(loaded: LoadedModel) -> list[str]:
    """Summaries of the documents."""
    generator = Generator(loaded.model, loaded.tokenizer, loaded.recipe.summarize, loaded.lengths)
    return [summary.text for summary in generator.generate(items_of(loaded))]


def test_the_first_documents_are_summarised_and_scored(loaded: LoadedModel, generated: list[str]) -> None:
    assert rouge(loaded, generated) == {"rouge1": 100.0, "rouge2": 100.0, "rougeLsum": 100.0}
    assert rouge(loaded, [*generated[:3], "other"])["rouge1"] == 100.0
    assert rouge(loaded, ["other", *generated[1:]])["rouge1"] == pytest.approx(200 / 3)


def test_standard_error_of_the_selecting_score_is_given(loaded: LoadedModel, generated: list[str]) -> None:
    recipe = loaded.recipe
    selecting = recipe.model_copy(update={"train": recipe.train.model_copy(update={"select_by": "rouge2"})})
    by_rouge = replace(loaded, recipe=selecting)
    references = [loaded.tokenizer.decode([5])] * 4
    scores = rouge(by_rouge, references)
    assert scores["rouge2_standard_error"] == pytest.approx(0)
    scores = rouge(by_rouge, ["other", *generated[1:]])
    assert scores["rouge2"] == pytest.approx(200 / 3)
    assert scores["rouge2_standard_error"] == pytest.approx(100 / 3)  # stdev of 0, 1 and 1, by the root of 3


def test_scoring_can_be_stopped(loaded: LoadedModel) -> None:
    with pytest.raises(Interrupted):
        rouge(loaded, [""] * 4, Stop(1))
