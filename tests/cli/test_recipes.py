import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.cli.recipe_reference import describe, page
from sumpool.errors import DataError, RecipeError
from tests.cli.conftest import run

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_recipes_lists_names_and_descriptions() -> None:
    result = run("recipes")
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if not line.startswith(" ")]  # without wrapped descriptions
    assert len(lines) == 2 + len([*RECIPES.rglob("*.yaml")])
    assert any(line.startswith("quickstart ") and "bundled sample" in line for line in lines)


def test_recipes_prints_one() -> None:
    result = run("recipes", "quickstart")
    assert (result.exit_code, result.stdout) == (0, (RECIPES / "quickstart.yaml").read_text())
    wrong = run("recipes", "papers/arxiv/pwer").exception
    assert isinstance(wrong, RecipeError)
    assert re.match(r"papers/arxiv/pwer must be a recipe file .* \(did you mean papers/arxiv/power", str(wrong))


@pytest.mark.slow
def test_sample_prints_a_document_or_its_reference() -> None:
    listed = run("sample").stdout.splitlines()
    assert {line.split()[0][-1] for line in listed} == {"7"}
    assert any(line.startswith("RFC2587  The schema defined in this document is") for line in listed)
    document = run("sample", "2587")
    assert document.stdout == run("sample", "rfc2587").stdout
    reference = run("sample", "RFC2587", "--reference")
    assert len(document.stdout.split()) > 1000
    assert reference.stdout.startswith("The schema defined in this document is a minimal schema to support PKIX")
    assert reference.stdout.strip() not in document.stdout
    wrong = run("sample", "RFC1").exception
    assert isinstance(wrong, DataError)
    assert str(wrong).startswith("RFC1 must be a document of the bundled sample, such as RFC2587, got none")


def test_help_is_a_command() -> None:
    for command in ("train", "recipes", "import"):
        asked = run("help", command)
        assert asked.exit_code == 0
        assert asked.stdout == run(command, "--help").stdout
    helped = [run(name, "--help") for name in ("summarise", "summarize")]
    assert [result.exit_code for result in helped] == [0, 0]
    assert "--evidence" in helped[0].stdout
    assert run("help").stdout == run("--help").stdout
    wrong = run("help", "trian")
    assert (wrong.exit_code, "train" in wrong.stderr) == (2, True)


def complete(*words: str) -> list[str]:
    """Ask for the completions of the last word, as bash does."""
    environment = {
        **os.environ,
        "_SUMPOOL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["sumpool", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code = "import sys; sys.argv = ['sumpool']; from sumpool.cli.app import main; main()"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return shown.stdout.split()


def test_shells_complete_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complete("su") == ["summarize"]
    assert complete("train", "--dr") == ["--dry-run"]
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "bash"))  # the tests may run in no shell
    shown = run("--show-completion")
    assert shown.exit_code == 0


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
    section = run("help", "recipe", "train").stdout
    assert max(map(len, section.splitlines())) <= 60
    assert " ".join(section.split()) == " ".join(describe("train").split())
    assert run("help", "recipe").stdout.rstrip("\n") == page()
