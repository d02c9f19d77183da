import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.cli.recipe_reference import describe, page
from sumpool.errors import RecipeError


def test_the_page_has_sections_variants_tasks_and_suites() -> None:
    shown = page()
    for part in (
        "\n- `train.learning_rate`: ",
        "\n- `model.encoder[i].pool`: ",
        "\n### `pool: {kind: halving}`\n",
        "\n## Language model: `data`\n",
        "\n### `study ",
    ):
        assert part in shown
    assert shown.count("\n## `model.encoder[i].pool.peak`\n") == 1  # several poolers have it
    assert shown.count("\n- `test_share`: ") == 2  # as have several sources; those of running text have their own
    assert ", `validation_share`, `test_share`" in shown.partition("`source: {kind: parquet}`\n")[2].partition("###")[0]
    assert "- `test_share`: " in describe("parquet")


@pytest.mark.parametrize(
    ("name", "beginning", "settings"),
    [
        ("train", "## `train`\n\nSettings of a training run", "- `train.steps`: a whole number of at least 0 and "),
        ("halving", "### `pool: {kind: halving}`\n\nSuccessive halving", "- `keep`: a whole number "),
        ("attention", "## `model.encoder[i].attention`\n\nOne of `bigbird`, ", ""),
        ("train.steps", "## `train`\n\n- `train.steps`: ", "(default: `1000`). Optimizer updates"),
        ("model.encoder[0].pool.keep", "### `pool: {kind: halving}`\n\n- `keep`: ", "### `pool: {kind: hard}`"),
        ("lra", "### `study lra`", "- `study.task`: one of image, listops, "),
        ("depth", "### `study depth`", "(default: `8`). Attention heads; must divide dim."),  # redefines a default
    ],
)
def test_a_section_a_kind_or_a_setting_is_described(name: str, beginning: str, settings: str) -> None:
    shown = describe(name)
    assert beginning in shown
    assert settings in shown


def test_an_unknown_section_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(RecipeError, match=r"SECTION must be .*, got train.stepps \(did you mean train.steps"):
        describe("train.stepps")


def test_help_recipe_wraps_a_section_and_prints_the_page_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    section = CliRunner().invoke(app, ["help", "recipe", "train"]).stdout
    assert max(map(len, section.splitlines())) <= 60
    assert " ".join(section.split()) == " ".join(describe("train").split())
    assert CliRunner().invoke(app, ["help", "recipe"]).stdout.rstrip("\n") == page()
