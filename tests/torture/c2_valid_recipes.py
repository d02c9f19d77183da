"""Random valid recipes of all variants: two updates with validations, summaries, and their evaluation."""

import json
import math
import random
import shutil
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import torch
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from sumpool.core.decoding.config import DecodingConfig, choose_lengths
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.quantization import quantize
from sumpool.data.report import DataReport
from sumpool.documents.document import Document
from sumpool.errors import SumpoolError
from sumpool.evaluation.report import ScoreAggregator
from sumpool.evaluation.rouge import EvaluationConfig
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, SummaryScorer
from sumpool.inference.loading import LoadedModel
from sumpool.inference.pipeline import Pipeline
from sumpool.io.manifest import SHIPPED
from sumpool.progress import no_op
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.recipe.files import write
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.runs.training_setup import TrainingSetup, set_up_training
from sumpool.settings import OneOf, Settings, config_class, kinds
from sumpool.tasks.classification.classify import LoadedClassifier, classify_texts
from sumpool.tasks.classification.labels import load_labels
from sumpool.tasks.classification.model import ClassificationModel, ClassifierConfig
from sumpool.tasks.classification.task import ClassificationRecipe
from sumpool.tasks.language_modeling.config import LanguageModelConfig, LanguageModelRecipe
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.summarization.training import validation_rouge
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.config import TrainConfig
from sumpool.training.fit import fit
from sumpool.training.hardware import choose_generation_precision
from tests.conftest import story, write_lines
from tests.torture.figures import Measured
from tests.training.toy import new_run

_LEFT_OUT = {
    *("data", "name", "bench", "init_from", "trainable", "device", "log", "select", "steps"),
    *("teacher", "scorer", "loss_weights", "begin_with", "length", "select_by"),
}
"""Settings that `_SPECIAL` and `RecipeSampler.recipe` choose, or that need files or another device."""
_ALWAYS = ("source_length", "target_length", "feed_forward", "layers", "max_length", "resamples", "hidden", "key")
"""Settings whose defaults are those of large models."""
_SPECIAL: dict[str, Sequence[object]] = {
    "source_length": (1, 2, 3, 16, 64, 200),
    "target_length": (2, 3, 8, 20),
    "feed_forward": (1, 2, 16),
    "layers": (1, 2),
    "batch_tokens": (1, 64, 256, 4096),
    "accumulate": (1, 2, 3),
    "learning_rate": (1e-5, 1e-3, 0.1),
    "label_smoothing": (0.0, 0.1, 0.9),
    "samples": (1, 2, 4),
    "beams": (1, 2, 5),
    "min_length": (0, 1, "auto"),
    "max_length": (1, 2, 7, 1000, "auto"),
    "resamples": (100,),
    "hashes": (1, 2, 5),
    "lead_words": (1, 60),
    "temperature": (0.01, 0.5, 1.0, 100.0),
    "seed": (0, 1, 2**31 - 1),
    "hidden": (1, 16),
    "base": (1.001, 20.0, 1e6),
}
"""Values of settings whose bounds allow more than a test has time for."""
_REACH = 70, 2
"""Most that a whole number, and any other number, exceeds its lower bound by."""
_BOUNDARIES = "sumpool.core.boundaries"


class RecipeSampler:
    """Source of valid recipes of tiny models; the same seed gives the same recipes."""

    def __init__(self, seed: int, data: dict[str, object], labelled: dict[str, object] | None = None) -> None:
        """Use the same data in all recipes, and labelled data in a fifth of them, which are of classifiers."""
        self._draw = random.Random(seed)
        self._data = data
        self._labelled = labelled

    def recipe(self) -> tuple[dict[str, Any], Recipe]:
        """Return the settings that a recipe file would have, and the recipe."""
        while True:
            tree = self._tree()
            try:
                return tree, Recipe.model_validate(tree)
            except ValidationError:  # a rule over several settings, such as heads that divide dim
                continue

    def _tree(self) -> dict[str, Any]:
        heads = self._draw.choice((1, 2, 4))
        model = self.section(ModelConfig)
        model |= {"heads": heads, "dim": heads * self._draw.choice((2, 4, 8))}
        model["encoder"] = [self.section(EncoderLayerConfig) for _ in range(self._draw.choice((1, 1, 2, 3)))]
        tree: dict[str, Any] = {"name": "sampled", "seed": self._draw.choice((0, 7, 2**31 - 1)), "model": model}
        tree["data"] = self._data
        for name, section in (("train", TrainConfig), ("summarize", DecodingConfig), ("evaluate", EvaluationConfig)):
            tree[name] = self.section(section)
        weights = {name: self._draw.choice((0, 0.1, 1, 10)) for name in loss_names(model)}
        tree["train"] |= {"device": "cpu", "steps": 2, "loss_weights": weights}
        if self._draw.random() < 0.3:
            tree["train"]["select_by"] = self._draw.choice(("rouge1", "rougeLsum"))
            tree["train"]["rouge_documents"] = 2
        tree["summarize"] |= {"device": "cpu", "length": self._draw.choice(("auto", "short", "9w", "1s", "30%"))}
        if self._draw.random() < 0.1:
            tree["summarize"]["begin_with"] = [self._draw.randrange(300)]
        if self._labelled and self._draw.random() < 0.2:
            tree |= {"task": "classification", "data": self._labelled}
            tree["train"]["loss_weights"] = dict.fromkeys(_boundary_losses(model), 0.5)
            model["classifier"] = self.section(ClassifierConfig) | {"towers": 1}
        return tree

    def section(self, config: type[Settings]) -> dict[str, Any]:
        """Sample a section: all required settings, and half of the others."""
        tree: dict[str, Any] = {}
        for name, field in config.model_fields.items():
            if name == "kind":
                tree[name] = field.default
            elif name in _LEFT_OUT or not (field.is_required() or name in _ALWAYS or self._draw.random() < 0.5):
                continue
            elif name in _SPECIAL:
                tree[name] = self._draw.choice(_SPECIAL[name])
            else:
                tree[name] = self._value(field.annotation, field.metadata)
        return tree

    def _value(self, annotation: Any, metadata: Sequence[Any]) -> object:  # noqa: ANN401 - any type
        family = next((mark for mark in metadata if isinstance(mark, OneOf)), None)
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            marks = [part for mark in inner[1:] for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
            return self._value(inner[0], [*marks, *metadata])
        if origin in (Union, UnionType):
            return self._value(self._draw.choice(inner), metadata)
        if origin is Literal:
            return self._draw.choice(inner)
        if family:
            return self.section(config_class(family.family, self._draw.choice(kinds(family.family))))
        if origin is tuple:
            count = self._draw.randint(0, 3) if inner[-1] is Ellipsis else 1
            return [self._value(part, ()) for part in inner * count if part is not Ellipsis]
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            return self.section(annotation)
        return self._scalar(annotation, metadata)

    def _scalar(self, annotation: object, metadata: Sequence[object]) -> object:
        low, high = _bounds(metadata)
        if annotation is int:
            return self._draw.choice((int(low), int(min(high, low + self._draw.randint(0, _REACH[0])))))
        if annotation is float:
            high = min(high, low + _REACH[1])
            return self._draw.choice((low, low + self._draw.random() * (high - low), high))
        if annotation is bool:
            return self._draw.random() < 0.5
        if annotation is str:
            return self._draw.choice(("", "routes of packets"))
        assert annotation is type(None), f"{annotation} must be sampled"
        return None


def _bounds(metadata: Sequence[object]) -> tuple[float, float]:
    """Least and greatest value of a number."""
    low, high = 0.0, math.inf
    for mark in metadata:
        match mark:
            case Ge(ge=bound):
                low = float(str(bound))
            case Gt(gt=bound):
                low = float(str(bound)) + 1e-3
            case Le(le=bound):
                high = float(str(bound))
            case Lt(lt=bound):
                high = float(str(bound)) - 1e-3
    return low, high


def loss_names(model: dict[str, Any]) -> list[str]:
    """Names of the auxiliary losses of a model, from its settings in a recipe file."""
    if "layers" in model:
        return list(LanguageModelConfig.model_validate(model).boundary_losses)
    decoder = model.get("decoder") or {}
    names = ["length"] * bool(decoder.get("predict_length"))
    names += ["coverage"] * bool(model.get("output", {}).get("coverage"))
    cross = decoder.get("cross_attention") or {}
    if cross.get("kind") == "sentence" and cross.get("selection", {}).get("kind", "approximate") == "approximate":
        names.append("selection")
    return names + _boundary_losses(model)


def _boundary_losses(model: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for layer in model["encoder"]:
        pool = layer.get("pool") or {}
        kind = pool.get("boundaries", {}).get("kind")
        if pool.get("kind") == "segments" and kind in kinds(_BOUNDARIES):
            names += config_class(_BOUNDARIES, kind).losses  # type: ignore[attr-defined]
    return names


def sample_language_model(
    sampler: RecipeSampler, draw: random.Random, data: dict[str, Any]
) -> tuple[dict[str, Any], LanguageModelRecipe]:
    """Return the settings that a recipe file would have, and the recipe."""
    while True:
        heads, levels = draw.choice((1, 2, 4)), draw.choice((0, 1, 1, 1, 2))
        model = sampler.section(LanguageModelConfig)
        model |= {"heads": heads, "dim": heads * draw.choice((2, 4, 8)), "length": draw.choice((1, 2, 7, 32))}
        model["layers"] = [draw.choice((0, 1, 1, 2)) for _ in range(2 * levels + 1)]
        family = [config_class(_BOUNDARIES, draw.choice(kinds(_BOUNDARIES))) for _ in range(levels)]
        model["boundaries"] = [sampler.section(config) for config in family]
        train = sampler.section(TrainConfig) | {"device": "cpu", "steps": 2}
        tree: dict[str, Any] = {"name": "sampled", "task": "language_modeling", "data": data, "model": model}
        try:
            tree["train"] = train | {"loss_weights": {name: draw.choice((0, 1)) for name in loss_names(model)}}
            return tree, LanguageModelRecipe.model_validate(tree)
        except ValidationError:  # a rule over several settings, such as boundaries that need later tokens
            continue


def write_text(folder: Path) -> dict[str, Any]:
    """Write a text, and return the section `data` of recipes that prepare it once."""
    (folder / "text.txt").write_text("\n".join(story(number, 9) for number in range(12)))
    source = {"kind": "plain", "path": str(folder / "text.txt")}
    return {"source": source, "prepared": str(folder / "prepared-text"), "subwords": 80}


def run_language_model(recipe: LanguageModelRecipe, run: Path) -> str:
    """Train, score and generate; return what fails, or an empty text."""
    setup = set_up_training(recipe, no_op, no_op)
    fit(setup.model, recipe.train, setup.data, run)
    model = setup.model.eval()
    assert isinstance(model, LanguageModel)
    if not all(weight.isfinite().all() for weight in model.parameters()):
        return "weights are not finite"
    item = setup.data.validation[0]
    assert item.target is not None
    ids, target = (torch.from_numpy(tokens)[None] for tokens in (item.ids, item.target))
    with torch.inference_mode():
        scores, _, _ = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids), target)
    nats = -scores.log_prob
    if not nats.isfinite().all() or float(nats.mean()) > 10 * math.log(setup.tokenizer.vocab_size):
        return f"scores are not finite, or unlikely: {float(nats.mean())}"
    return ""


ID: Final = "C2"
FIGURE: Final = "random valid recipes make two updates, summaries and an evaluation: no crash, nothing non-finite"
NIGHT: Final = 2000
QUICK: Final = 4
_SENTENCES = {"train": (1, 3, 5, 9), "validation": (2, 3), "test": (1, 4)}


def measure(count: int, folder: Path) -> Measured:
    """Run `count` recipes on four documents."""
    faults = run_recipes(folder, 1, count)
    return Measured.by_faults(f"{count - len(faults):,} of {count:,}", faults, count)


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
        write_lines(folder / f"{split}.jsonl", rows)
        source[split] = str(folder / f"{split}.jsonl")
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
        is_late = isinstance(recipe, Recipe) and _depends_on_data(recipe, str(error))
        return "" if is_late else f"{type(error).__name__}: {error}"
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
        self._rouge = validation_rouge(recipe, setup, no_op) if generates else None

    def score(self) -> Mapping[str, float]:
        return self._rouge()[0] if self._rouge else {}

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
        reference = ReferenceDocument(row["id"], row["summary"], row["document"])
        scores.add(scorer.score(Candidate(reference, summary.text)))
    report = scores.report(recipe.evaluate, {"model": "sampled", **scorer.baselines}, scorer.signature)
    json.dumps(json.loads(report.to_json()), allow_nan=False)
    return ""


def _classify(recipe: Recipe, setup: TrainingSetup, run: Path) -> str:
    """Classify the test documents; return what is wrong with their labels."""
    assert isinstance(setup.model, ClassificationModel)
    assert isinstance(recipe, ClassificationRecipe)
    splitter, labels = SentenceSplitter(), load_labels(setup.prepared)
    device = torch.device("cpu")
    loaded = LoadedClassifier(run, recipe, setup.model.eval(), setup.tokenizer, device, splitter, labels)
    rows = [json.loads(line) for line in (setup.prepared.parent / "test.jsonl").read_text().splitlines()]
    texts = [(Document(row["id"], row["document"]), "") for row in rows]
    for prediction in classify_texts(texts, loaded, no_op, no_op):
        if prediction.label not in labels or not all(map(math.isfinite, prediction.log_probs)):
            return f"a document has no label: {prediction.as_json()}"
    return ""


def _depends_on_data(recipe: Recipe, message: str) -> bool:
    """Return whether a refusal could not be known before data was read."""
    lengths = recipe.summarize.max_length == "auto" and "summarize.min_length must be at most" in message
    return lengths or recipe.summarize.on_overflow == "error"
