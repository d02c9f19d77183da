"""The recipes of the prepared GPU run: one model in both stages, whose weights fit into what comes back."""

from pathlib import Path

import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.recipe.load import load_recipe

FOLDER = Path(__file__).parents[2] / "recipes/gpu"
VOCABULARY = 16_000
RETURNED_BYTES = 64 * 2**20


def test_both_stages_have_one_model_of_the_planned_size() -> None:
    gaps, abstracts = (load_recipe(FOLDER / f"{name}.yaml") for name in ("gaps", "abstracts"))
    without_dropout = [recipe.model.model_copy(update={"dropout": 0.0}) for recipe in (gaps, abstracts)]
    assert without_dropout[0] == without_dropout[1]
    assert (gaps.data.vocabulary, abstracts.data.tokenizer) == (VOCABULARY, gaps.prepared_folder)
    with torch.device("meta"):
        model = SummarizationModel(gaps.model, VOCABULARY)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert 20e6 < parameters < 60e6
    assert 2 * parameters < RETURNED_BYTES
