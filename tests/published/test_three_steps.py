"""Three training steps of recipes of the papers, on tiny data in the published layouts."""

import json
import lzma
import re
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from sumpool.data.shards import Shard
from sumpool.recipe.load import load_any_recipe
from sumpool.tasks.language_modeling.evaluate import load_language_model, split_of
from sumpool.text.tokenizer import load_tokenizer
from sumpool.workflows.train import train
from tests.published.test_podcasts import make
from tests.test_recipes import RECIPES

pytestmark = pytest.mark.slow
STEPS = ("train.steps=3", "train.validate_every=3", "train.batch_tokens=256")
BART = (
    "data.tokenizer=null",
    "data.vocabulary=300",
    "model.dim=16",
    "model.heads=2",
    "model.feed_forward=32",
    "model.source_length=64",
    "model.encoder=[{attention: {kind: sliding_window, window: 16}}]",
    "model.decoder.layers=1",
    "select.enabled=false",
)
FROM_SCRATCH = "train.init_from=null"


def metrics_of(name: str, *settings: str) -> str:
    """Train a recipe in the working directory; return its metrics."""
    recipe = load_any_recipe(RECIPES / "papers" / f"{name}.yaml", [*STEPS, *settings])
    run = Path("runs") / recipe.name
    train(recipe, run)
    return (run / "metrics.jsonl").read_text()


def test_podcasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recipe goes on where the one before it ended."""
    make(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert "kept" not in metrics_of("bart/podcast-lobart", *BART, FROM_SCRATCH)
    assert '"selection"' in metrics_of("bart/podcast-kl_only", *BART)
    assert '"selection"' in metrics_of("bart/podcast-integrated", *BART)


def test_arxiv_keeps_the_best_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Articles of 40 sentences in the files of Cohan et al.; the one of the abstract is in the middle."""
    monkeypatch.chdir(tmp_path)
    Path("arxiv-dataset").mkdir()
    for split in ("train", "val", "test"):
        lines = []
        for number in range(8):
            article = [f"the {split} system has {line} parameters @xmath{line} of importance ." for line in range(40)]
            article[20] = f"we measure the mass {number} of galaxies ."
            abstract = [f"<S> we measure the mass {number} of galaxies . </S>"]
            row = {"article_id": f"{split}{number}", "abstract_text": abstract, "article_text": article}
            lines.append(json.dumps({**row, "section_names": ["introduction"], "sections": [article]}))
        Path(f"arxiv-dataset/{split}.txt").write_text("\n".join(lines))
    settings = ("data.content_selection.tokens=64", "data.vocabulary=400")
    assert '"loss"' in metrics_of("bart/arxiv-lobart", *BART, FROM_SCRATCH, *settings)
    shard, tokenizer = Shard(Path("prepared/arxiv-bart"), "train"), load_tokenizer(Path("prepared/arxiv-bart"))
    for number in range(len(shard)):
        assert len(shard[number].ids) <= 64
        assert "we measure the mass" in tokenizer.decode(shard[number].ids.tolist())


def test_cnn_dailymail_with_the_sparsity_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cnn_dailymail").mkdir()
    for split in ("train", "validation", "test"):
        articles = [
            f"LONDON, England (Reuters) -- Actor {number} met {split}. He left. He sang." for number in range(6)
        ]
        rows = {
            "article": articles,
            "highlights": ["Actor left .\nHe sang ."] * 6,
            "id": [f"{split}{n}" for n in range(6)],
        }
        pyarrow.parquet.write_table(pyarrow.table(rows), f"cnn_dailymail/{split}-00000-of-00001.parquet")
    assert '"sparsity"' in metrics_of("bart/cnn_dailymail-sparse", *BART, FROM_SCRATCH)


LANGUAGE_MODEL = ("model.dim=16", "model.heads=2", "model.feed_forward=32", "model.layers=[1,1,1]", "model.length=64")


@pytest.mark.parametrize(
    ("code", "article"),
    [
        ("en", "The Battle of 1066 was fought between H\u0430rold and William."),
        ("fi", "Helsinki on Suomen pääkaupunki ja sen suurin kaupunki, perustettu 1550."),
        ("he", "ירושלים היא עיר הבירה של מדינת ישראל, נוסדה לפני 5000 שנה."),
        ("vi", "Hà Nội là thủ đô của nước Cộng hòa xã hội chủ nghĩa Việt Nam, năm 1010."),
    ],
)
def test_wiki40b(code: str, article: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Parquet files of the hub, whose texts are Python literals of bytes."""
    monkeypatch.chdir(tmp_path)
    folder = Path("wiki40b") / code
    folder.mkdir(parents=True)
    marked = "\n_START_ARTICLE_\n{0}\n_START_SECTION_\n{0}\n_START_PARAGRAPH_\n{0}_NEWLINE_{0}"
    for split, articles in (("train", 30), ("validation", 8), ("test", 8)):
        texts = [str(marked.format(article).encode()) for _ in range(articles)]
        table = pyarrow.table({"wikidata_id": ["Q1"] * articles, "text": texts, "version_id": ["1"] * articles})
        pyarrow.parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")
    metrics = metrics_of(f"language_models/wiki40b-{code}", *LANGUAGE_MODEL, "data.subwords=60")
    assert '"boundaries"' in metrics
    text = training_text(f"wiki40b-{code}")
    assert "start" not in text
    assert not re.search(r"\d", text)


def test_cc100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cc100").mkdir()
    with lzma.open("cc100/en.txt.xz", "wt", encoding="utf-8") as file:
        file.write("Some pages have prices of 20 dollars.\nThey are sold at once.\n\n" * 60)
    shares = ("data.validation_share=0.2", "data.test_share=0.2")
    assert '"boundaries"' in metrics_of("language_models/cc100-en", *LANGUAGE_MODEL, *shares, "data.subwords=60")
    assert "two zero dollars" in training_text("cc100-en")


def training_text(name: str) -> str:
    """Return the beginning of the training text of a run."""
    loaded = load_language_model(Path("runs") / name)
    return b"".join(loaded.token_bytes[token] for token in split_of(loaded, "train")[:300]).decode()
