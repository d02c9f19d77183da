"""Random valid recipes of all variants: two updates with validations, summaries, and their evaluation."""

import json
import math
import random
import shutil
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.quantization import quantize
from sumpool.data.report import DataReport
from sumpool.documents.document import Document
from sumpool.errors import SumpoolError
from sumpool.evaluation.report import ScoreAggregator
from sumpool.evaluation.scorer import Candidate, SummaryScorer
from sumpool.inference.loading import LoadedModel, choose_lengths
from sumpool.inference.pipeline import Pipeline
from sumpool.io.manifest import SHIPPED
from sumpool.progress import no_op
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.recipe.files import write
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.runs.training_setup import TrainingSetup, set_up_training
from sumpool.tasks.classification.classify import LabelledText, LoadedClassifier, classify_texts
from sumpool.tasks.classification.labels import Labels
from sumpool.tasks.classification.model import ClassificationModel
from sumpool.tasks.classification.task import ClassificationRecipe
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.summarization.validation_rouge import ValidationRouge
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.fit import fit
from sumpool.training.hardware import choose_generation_precision
from tests.conftest import story
from tests.torture.figures import Measured
from tests.torture.recipe_sampler import RecipeSampler
from tests.torture.sampled_language_models import run_language_model, sample_language_model, write_text
from tests.training.toy import new_run

ID: Final = "C2"
FIGURE: Final = "random valid recipes make two updates, summaries and an evaluation: no crash, nothing non-finite"
NIGHT: Final = 2000
QUICK: Final = 4
_SENTENCES = {"train": (1, 3, 5, 9), "validation": (2, 3), "test": (1, 4)}


def measure(count: int, folder: Path) -> Measured:
    """Run `count` recipes on four documents."""
    faults = run_recipes(folder, 1, count)
    text = f"{count - len(faults):,} of {count:,}" + "".join(f"; {fault}" for fault in faults[:3])
    return Measured(text, not faults, count)


def run_recipes(folder: Path, seed: int, count: int) -> list[str]:
    """Return a fault with the recipe as YAML for each of the sampled recipes that fails."""
    data = write_data(folder)
    sampler = RecipeSampler(seed, data, labelled(data))
    text, draw = write_text(folder), random.Random(seed)
    faults = []
    for number in range(count):
        tree, recipe = sampler.recipe() if number % 4 else sample_language_model(sampler, draw, text)
        fault = run_recipe(recipe, folder)
        if fault:
            faults.append(f"{fault} in\n{write(tree)}")
    return faults


def write_data(folder: Path) -> dict[str, Any]:
    """Write documents, and return the section `data` of recipes that prepare them once."""
    number = 0
    source: dict[str, object] = {"kind": "jsonl"}
    for split, counts in _SENTENCES.items():
        rows = []
        for sentences in counts:
            number += 1
            text = story(number, sentences)
            row = {"id": f"{split}{number}", "document": text, "summary": text.split(".")[0] + "."}
            rows.append(row | {"label": f"{number % 2}"})
        path = folder / f"{split}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        source[split] = str(path)
    return {"source": source, "prepared": str(folder / "prepared"), "vocabulary": 300, "phrases": 320, "workers": 1}


def labelled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section `data` of classifiers for one of summarisers."""
    return {**data, "source": data["source"] | {"kind": "labelled"}, "prepared": f"{data['prepared']}-labels"}


def run_recipe(recipe: BaseRecipe, folder: Path) -> str:
    """Train, summarise or generate, and evaluate; return what fails, or an empty text."""
    run = new_run(folder / "run")
    try:
        if isinstance(recipe, LanguageModelRecipe):
            return run_language_model(recipe, run)
        assert isinstance(recipe, Recipe)
        setup = set_up_training(recipe, no_op, no_op)
        fit(setup.model, recipe.train, setup.data, run, observer=_Observer(recipe, setup))
        if not all(weight.isfinite().all() for weight in setup.model.parameters()):
            return "weights are not finite"
        return (_summarize if recipe.task == "summarization" else _classify)(recipe, setup, run)
    except SumpoolError as error:
        return (
            ""
            if isinstance(recipe, Recipe) and _depends_on_data(recipe, str(error))
            else f"{type(error).__name__}: {error}"
        )
    except Exception as error:  # a crash is what this figure counts
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if "/sumpool/" in frame.filename]
        place = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else ""
        return f"{type(error).__name__}: {error} ({place})"
    finally:
        shutil.rmtree(run)


class _Observer:
    """Summaries of validation documents."""

    def __init__(self, recipe: Recipe, setup: TrainingSetup) -> None:
        generates = recipe.task == "summarization" and recipe.train.rouge_documents
        self._rouge = ValidationRouge(recipe, setup, no_op) if generates else None

    def score(self) -> Mapping[str, float]:
        return self._rouge() if self._rouge else {}

    def record(self, step: int) -> None:
        del step


def _summarize(recipe: Recipe, setup: TrainingSetup, run: Path) -> str:
    """Summarise the test documents and score the summaries; return what is wrong with them."""
    assert isinstance(setup.data_report, DataReport)
    tokens = setup.data_report.splits["train"].summary_tokens
    assert isinstance(setup.model, SummarizationModel)
    model = setup.model.eval().requires_grad_(False)
    device = torch.device("cpu")
    quantize(model, choose_generation_precision(recipe.summarize.precision, device))
    lengths = choose_lengths(recipe.summarize, tokens.mean, tokens.p90, recipe.model.target_length)
    splitter = SentenceSplitter()
    selector = SentenceSelector.load(run, SHIPPED)
    loaded = LoadedModel(run, recipe, model, setup.tokenizer, device, splitter, lengths, selector, setup.data_report)
    rows = [json.loads(line) for line in (setup.prepared.parent / "test.jsonl").read_text().splitlines()]
    documents = [Document(row["id"], row["document"]) for row in rows]
    summaries = list(Pipeline.of(loaded).summarize(documents))
    if [summary.id for summary in summaries] != [document.id for document in documents]:
        return "documents have no summary"
    if not all(math.isfinite(summary.score or 0.0) for summary in summaries):
        return "scores are not finite"
    scorer, scores = SummaryScorer(recipe.evaluate), ScoreAggregator()
    for summary, row in zip(summaries, rows, strict=True):
        scores.add(scorer.score(Candidate(row["id"], summary.summary, row["summary"], row["document"])))
    report = scores.report(recipe.evaluate, {"model": "sampled", **scorer.baselines}, scorer.signature)
    json.dumps(json.loads(report.to_json()), allow_nan=False)
    return ""


def _classify(recipe: Recipe, setup: TrainingSetup, run: Path) -> str:
    """Classify the test documents; return what is wrong with their labels."""
    assert isinstance(setup.model, ClassificationModel)
    assert isinstance(recipe, ClassificationRecipe)
    splitter, labels = SentenceSplitter(), Labels.load(setup.prepared)
    device = torch.device("cpu")
    loaded = LoadedClassifier(run, recipe, setup.model.eval(), setup.tokenizer, device, splitter, labels)
    rows = [json.loads(line) for line in (setup.prepared.parent / "test.jsonl").read_text().splitlines()]
    texts = [LabelledText(Document(row["id"], row["document"])) for row in rows]
    for prediction in classify_texts(texts, loaded, no_op):
        if prediction.label not in labels.names or not all(map(math.isfinite, prediction.log_probs)):
            return f"a document has no label: {prediction.as_json()}"
    return ""


def _depends_on_data(recipe: Recipe, message: str) -> bool:
    """Return whether a refusal could not be known before data was read."""
    lengths = recipe.summarize.max_length == "auto" and "summarize.min_length must be at most" in message
    return lengths or recipe.summarize.on_overflow == "error"
