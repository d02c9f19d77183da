"""The documentation: code that runs, references that are current, links that lead somewhere."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from sumpool.cli.commands import COMMANDS
from sumpool.recipe.packaged import packaged_recipes
from tests.scripts import load_script

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r'^```python(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
PLUGIN = """\
from pathlib import Path
import sumpool.core.scoring

sumpool.core.scoring.__path__.append(str(Path(__file__).with_name("family")))
"""
"""Adds the folder of the tutorial's module to the family, before pytest collects tests."""
RECIPE_TEST = """\
from pathlib import Path
from sumpool.recipe.load import load_recipe

def test_lead_recipe() -> None:
    assert load_recipe(Path(__file__).with_name("lead.yaml")).name == "scoring-lead"
"""


def titled(page: str, language: str) -> dict[str, str]:
    """Code blocks of a page that have a title, by file name."""
    blocks = re.findall(
        rf'^```{language} title="([^"]+)"\n(.*?)^```', (DOCS / page).read_text(), re.MULTILINE | re.DOTALL
    )
    return {Path(title).name: code for title, code in blocks}


def test_recipe_reference_is_current() -> None:
    page = load_script("docs/scripts/recipe_reference.py").page()
    assert (DOCS / "recipes.md").read_text() == page, "run: python docs/scripts/recipe_reference.py"
    for setting in (
        "| `train.learning_rate` |",
        "| `model.encoder[i].pool` |",
        "### `pool: {kind: halving}`",
        "### `bench ",
    ):
        assert setting in page


@pytest.mark.parametrize(
    "page", [pytest.param(DOCS / "python.md", marks=pytest.mark.slow), ROOT / "README.md"], ids=lambda page: page.name
)
def test_python_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = [code for _, code in BLOCK.findall(page.read_text())]
    assert len(blocks) >= {"python.md": 4, "README.md": 0}[page.name]
    for number, code in enumerate(blocks):
        exec(compile(code, f"{page.name}, block {number}", "exec"), {"__name__": "example"})


@pytest.mark.slow
def test_tutorial_passes_the_contract_test(tmp_path: Path) -> None:
    files = titled("adding-a-variant.md", "python") | titled("adding-a-variant.md", "yaml")
    assert set(files) == {"lead.py", "test_lead.py", "lead.yaml"}
    (tmp_path / "family").mkdir()
    (tmp_path / "family/lead.py").write_text(files.pop("lead.py"))
    for name, code in {**files, "tutorial_plugin.py": PLUGIN, "test_lead_recipe.py": RECIPE_TEST}.items():
        (tmp_path / name).write_text(code)
    command = [sys.executable, "-m", "pytest", "-p", "tutorial_plugin", "-p", "no:cacheprovider", "-k", "lead"]
    tests = [ROOT / "tests/core/scoring/test_contract.py", tmp_path / "test_lead.py", tmp_path / "test_lead_recipe.py"]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    shown = subprocess.run(
        [*command, *map(str, tests)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.count(".") >= 7  # contract tests, which loop over lengths, the tutorial's own, the recipe


def test_commands_name_recipes_and_commands_that_exist() -> None:
    commands = {*COMMANDS, "help"}
    recipes = {recipe.name for recipe in packaged_recipes()}
    for page in PAGES:
        text = page.read_text()
        code = "".join(re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL))
        named = {*re.findall(r"^(?:\$ )?sumpool ([a-z]\w*)", code, re.MULTILINE)}
        assert named | {*re.findall(r"`sumpool ([a-z]\w*)", text)} <= commands, page
        trained = set(re.findall(r"sumpool (?:train|prepare) ([a-z][\w/-]+)(?=[\s`])", text))
        assert trained - {"variants/scoring/lead"} <= recipes, page


def test_settings_of_examples_exist() -> None:
    reference = (DOCS / "recipes.md").read_text()
    for page in (*PAGES, ROOT / "README.md"):
        for path in re.findall(r"--set \"?([a-z_.\[\]0-9]+)=", page.read_text()):
            last = path.rpartition(".")[2]
            row = rf"\| `(?:[\w.\[\]]+\.)?{re.escape(last)}` \|"
            assert re.search(row, reference) or last in ("kind", "stepps"), f"{page}: {path}"


def test_modules_of_the_api_reference_exist() -> None:
    names = [name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
    assert len(names) >= 20
    assert [name for name in names if find_spec(name) is None] == []


def test_every_page_is_in_the_navigation() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    pages: list[str] = []
    for entry in site["nav"]:
        pages += [entry] if isinstance(entry, str) else next(iter(entry.values()))
    assert sorted(pages) == [page.relative_to(DOCS).as_posix() for page in PAGES]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and MkDocs name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_relative_links_lead_to_files_and_headings() -> None:
    for page in (*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            assert file.exists(), (page, target)
            assert not anchor or anchor in anchors(file), (page, target)


def test_no_image_or_script_comes_from_the_network() -> None:
    for page in PAGES:
        assert not re.search(r'!\[[^\]]*\]\(https?:|src="https?:', page.read_text()), page
