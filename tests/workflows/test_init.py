import gzip
import random
from pathlib import Path

import pytest
from typer.testing import Result

from sumpool.data.sources import (
    CsvSourceConfig,
    DatasetsSourceConfig,
    FolderSourceConfig,
    JsonlSourceConfig,
    ParquetSourceConfig,
)
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.io.manifest import SHIPPED
from sumpool.recipe.load import load_recipe
from sumpool.workflows.init import init
from tests.cli.conftest import run
from tests.conftest import BARE, Stop, write_lines
from tests.data.sources.test_datasets import save, save_dict

WORDS = ("protocol", "server", "client", "packet", "header", "network", "address", "message", "link", "router")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(number: int, words: int = 60) -> list[dict[str, str]]:
    source = random.Random(1)
    return [
        {"article": " ".join(source.choices(WORDS, k=words)) + ".", "highlights": "A link breaks.", "url": f"u{row}"}
        for row in range(number)
    ]


def train(recipe: str, *options: str) -> Result:
    """Train a small model in place of that of a recipe from scratch."""
    small = ("model.dim=16", "model.heads=2", "model.feed_forward=32", "data.workers=1", *BARE)
    return run("train", recipe, *(f"--set={setting}" for setting in small), *options)


def test_the_recipe_trains_as_written() -> None:
    write_lines(Path("my articles.jsonl"), rows(60))
    made = run("init", "my articles.jsonl", "--from-scratch")
    assert (made.exit_code, made.stdout) == (0, "my-articles.yaml\n")
    assert "next: sumpool train my-articles.yaml" in made.stderr
    assert load_recipe(Path("my-articles.yaml")).model.source_length == 128
    trained = train("my-articles.yaml", "--set=train.steps=2", "--set=train.batch_tokens=512")
    assert (trained.exit_code, trained.stdout) == (0, "runs/my-articles\n"), trained.output


def test_the_recipe_begins_with_the_shipped_model() -> None:
    write_lines(Path("few.jsonl"), rows(60))
    made = run("init", "few.jsonl")
    assert "from shipped: weights, vocabulary" in made.stderr
    recipe, shipped = load_recipe(Path("few.yaml")), load_recipe(SHIPPED / "recipe.yaml")
    assert (recipe.model, recipe.summarize) == (shipped.model, shipped.summarize)
    assert (recipe.data.tokenizer, recipe.train.init_from) == (Path("shipped"), Path("shipped"))
    assert recipe.select.enabled  # the ranker is fitted to the pairs
    assert recipe.train.patience
    many = load_recipe(init(write_lines(Path("many.jsonl"), rows(3000)))).train.steps
    assert recipe.train.steps < many


@pytest.mark.slow
def test_the_shipped_model_is_adapted_as_written() -> None:
    write_lines(Path("few.jsonl"), rows(60))
    init(Path("few.jsonl"))
    trained = run("train", "few.yaml", "--set", "train.steps=1", "--set", "data.workers=1")
    assert trained.exit_code == 0, trained.output
    assert "began with the weights of shipped; fresh: none; left out: none" in trained.output
    assert Path("runs/few/ranker.safetensors").is_file()


def test_fields_are_named_or_guessed_in_any_case() -> None:
    lines = [{"Full Text": row["article"], "Abstract": row["highlights"], "Body": "x"} for row in rows(60)]
    write_lines(Path("upper.jsonl"), lines)
    source = load_recipe(init(Path("upper.jsonl"))).data.source
    assert isinstance(source, JsonlSourceConfig)
    assert (source.document, source.summary) == ("Body", "Abstract")
    named = run("init", "upper.jsonl", "--out", "named.yaml", "--document", "Full Text")
    assert named.exit_code == 0, named.output
    source = load_recipe(Path("named.yaml")).data.source
    assert isinstance(source, JsonlSourceConfig)
    assert (source.document, source.summary) == ("Full Text", "Abstract")
    Path("folder").mkdir()
    with pytest.raises(RecipeError, match="--document must come with a file of rows, got folder, a folder of texts"):
        init(Path("folder"), fields={"document": "x"})


def test_summaries_in_the_documents_are_warned_of() -> None:
    notes = list[str]()
    lines = [line | {"highlights": " ".join(line["article"].split()[:20])} for line in rows(60)]
    init(write_lines(Path("leaky.jsonl"), lines), report=lambda progress: notes.append(progress.note))
    assert "warning: 100% of the summaries' 8-grams stand in the documents" in notes[-1]
    init(Path("leaky.jsonl"), Path("scratch.yaml"), from_scratch=True)
    assert "warning: 100% of the summaries' 8-grams" in train("scratch.yaml", "--dry-run").stderr
    init(write_lines(Path("other.jsonl"), rows(60)), report=lambda progress: notes.append(progress.note))
    assert "warning" not in notes[-1]


def test_a_file_name_forges_no_setting() -> None:
    hostile = Path("rows\nseed: 9\n# x.jsonl")
    write_lines(hostile, rows(60))
    recipe = load_recipe(init(hostile, Path("out\nseed: 9.yaml")))
    source = recipe.data.source
    assert recipe.seed == 1
    assert isinstance(source, JsonlSourceConfig)
    assert source.path == hostile


def test_fields_are_guessed_and_sizes_measured() -> None:
    path = init(write_lines(Path("news.jsonl"), rows(100, words=500)), from_scratch=True)
    recipe, text = load_recipe(path), path.read_text()
    source = recipe.data.source
    assert isinstance(source, JsonlSourceConfig)
    assert (source.document, source.summary, source.id) == ("article", "highlights", "url")
    assert source.validation_share > 0.05  # 0.05 of 100 documents are too few
    assert (recipe.model.source_length, recipe.model.target_length) == (768, 16)
    assert recipe.train.batch_tokens == 8 * 768
    assert recipe.train.steps == 200
    assert "# Words of a document: mean 500, 90 % have at most 500. Words of a summary: mean 3" in text
    assert "document: article       # guessed; field of the document" in text
    assert all(len(line) <= 120 for line in text.splitlines())
    lines = [line | {"highlights": " ".join(["long"] * 500)} for line in rows(60, words=4000)]
    model = load_recipe(init(write_lines(Path("long.jsonl"), lines), from_scratch=True)).model
    assert (model.source_length, model.target_length) == (4096, 512)
    assert "about 100% of the documents are longer" in Path("long.yaml").read_text()


def test_parquet_and_folders(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(rows(60)), "table.parquet")
    source = load_recipe(init(Path("table.parquet"))).data.source
    assert isinstance(source, ParquetSourceConfig)
    assert source.summary == "highlights"
    folder = tmp_path / "texts"
    folder.mkdir()
    for row in rows(60):
        (folder / f"{row['url']}.txt").write_text(row["article"])
        (folder / f"{row['url']}.summary.txt").write_text(row["highlights"])
    recipe = load_recipe(init(folder, Path("other.yaml")))
    assert isinstance(recipe.data.source, FolderSourceConfig)
    assert recipe.name == "texts"


def test_tables_of_spreadsheets_are_recognised() -> None:
    for name, separator in (("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t"), ("d.csv.gz", ";")):
        table = "".join(
            f"{separator.join(cells)}\n" for cells in [[*rows(1)[0]], *([*row.values()] for row in rows(60))]
        )
        Path(name).write_bytes(gzip.compress(table.encode()) if name.endswith("gz") else table.encode())
        source = load_recipe(init(Path(name))).data.source
        assert isinstance(source, CsvSourceConfig)
        assert (source.document, source.id) == ("article", "url")
    assert "quotes" not in Path("a.yaml").read_text()


def test_datasets_are_recognised_by_their_files(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [dict(line) for line in rows(60)]
    source = load_recipe(init(save(tmp_path / "plain", lines))).data.source
    assert isinstance(source, DatasetsSourceConfig)
    assert source.document == "article"
    save_dict(tmp_path / "parts", train=lines[:50], validation=lines[50:55], test=lines[55:])
    text = init(tmp_path / "parts").read_text()
    assert "kind: datasets" in text
    assert "share" not in text


def test_a_signal_leaves_no_recipe() -> None:
    with pytest.raises(Interrupted, match="stopped by SIGTERM; no recipe was written"):
        init(write_lines(Path("rows.jsonl"), rows(60)), check=Stop(1))
    assert [path.name for path in Path().iterdir()] == ["rows.jsonl"]


def test_unusable_documents_are_refused() -> None:
    with pytest.raises(DataError, match=r"few.jsonl must hold documents for every split, got 2 and none for"):
        init(write_lines(Path("few.jsonl"), rows(2)))
    with pytest.raises(DataError, match=r"bad.jsonl:2: 'article' must contain text, .*; correct or remove this row"):
        init(write_lines(Path("bad.jsonl"), [*rows(1), {"article": " ", "highlights": "x", "url": "y"}]))
    with pytest.raises(DataError, match="must have a field that looks like a document"):
        init(write_lines(Path("odd.jsonl"), [{"title": "x"}]))
    assert not list(Path.cwd().glob("*.yaml"))
    init(write_lines(Path("a.jsonl"), rows(60)))
    with pytest.raises(RecipeError, match=r"a.yaml must not exist yet, got a file; name another one with --out"):
        init(Path("a.jsonl"))
