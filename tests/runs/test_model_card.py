from pathlib import Path

from markdown_it import MarkdownIt

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.recipe.load import load_recipe
from sumpool.runs.model_card import imported_card

HOSTILE = "a`b\n# forged <b>|"


def test_names_forge_no_lines(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    model = SummarizationModel(recipe.model, 300)
    pages = []
    for name in ("plain", HOSTILE):
        card = imported_card(recipe, Path("runs") / name, f"{name}/model", model, [f"Left out: {name}."])
        pages.append(MarkdownIt("gfm-like", {"linkify": False}).parse(card))
    plain, hostile = [[(token.type, token.tag) for token in page] for page in pages]
    assert plain == hostile
    shown = "".join(token.content for token in pages[1])
    assert "--model 'runs/a`b\\u000a# forged <b>|'" in shown
