"""Random valid recipes of language models: two updates with validations, scores of the test text, and generation."""

import math
import random
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from sumpool.progress import no_op
from sumpool.runs.training_setup import set_up_training
from sumpool.settings import config_class, kinds
from sumpool.tasks.language_modeling.config import LanguageModelConfig, LanguageModelRecipe, TextSampling
from sumpool.tasks.language_modeling.generation import generate_tokens
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.training.config import TrainConfig
from sumpool.training.fit import fit
from tests.conftest import story
from tests.torture.recipe_sampler import RecipeSampler

_BOUNDARIES = "sumpool.core.boundaries"


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
            losses = LanguageModelConfig.model_validate(model).boundary_losses
            tree["train"] = train | {"loss_weights": {name: draw.choice((0, 1)) for name in losses}}
            return tree, LanguageModelRecipe.model_validate(tree)
        except ValidationError:  # a rule over several settings, such as boundaries that need later tokens
            continue


def write_text(folder: Path) -> dict[str, Any]:
    """Write a text, and return the section `data` of recipes that prepare it once."""
    (folder / "text.txt").write_text("\n".join(story(number, 9) for number in range(12)))
    source = {"kind": "plain", "path": str(folder / "text.txt")}
    return {"source": source, "prepared": str(folder / "prepared-text"), "subwords": 80}


def text_loss_names(model: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the losses of a language model, from its settings."""
    return tuple(LanguageModelConfig.model_validate(model).boundary_losses)


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
    prompt, sampling = item.ids[:1].tolist(), TextSampling(length=min(4, recipe.model.length))
    tokens = list(generate_tokens(model, prompt, sampling, range(5), torch.device("cpu")))
    return "" if len(tokens) == sampling.length else f"{len(tokens)} tokens are generated"
