from pathlib import Path

from sumpool.bench.systems.builtin import NAME, QUICKSTART, VOCABULARY
from sumpool.core.model.config import ModelConfig
from sumpool.recipe.load import load_recipe


def test_it_is_the_model_of_the_recipe() -> None:
    recipe = load_recipe(Path("recipes/quickstart.yaml"))
    assert ModelConfig.model_validate(QUICKSTART) == recipe.model
    assert (recipe.name, recipe.data.vocabulary) == (NAME, VOCABULARY)
