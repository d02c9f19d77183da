"""Data of the papers: rows that scripts of `recipes/papers` write, and training steps in the published layouts."""

import csv
import gzip
import json
import lzma
import re
from pathlib import Path

import copying
import genres
import ordered
import podcasts
import pyarrow
import pyarrow.parquet
import pytest

from sumpool.data.shards import Shard
from sumpool.recipe.load import load_any_recipe
from sumpool.tasks.language_modeling.evaluate import load_language_model, split_of
from sumpool.text.tokenizer import load_tokenizer
from sumpool.workflows.train import train
from tests.test_recipes import RECIPES

ABOUT = "Two friends talk about the history of small railways and visit the people who still run one of them."
COLUMNS = ["show_uri", "show_description", "episode_uri", "episode_description"]
COLUMNS += ["show_filename_prefix", "episode_filename_prefix"]


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def description(number: int) -> str:
    kept = f"Station {number} of line {number} has a keeper {number} who shows tower {number}."
    return f"{kept} See www.rails.example/{number}."


def release(folder: Path) -> Path:
    """Write episodes in the layout of the release: those of one show, and its test."""
    rows = [description(number) for number in range(12)]
    rows[3] = rows[2]  # repeats another episode
    rows[4] = ABOUT  # repeats the show
    rows[5] = "Too short a text."  # 17 characters
    rows[6] = "Listen to this at www.rails.example now, my friends."  # an address only
    for suffix, texts in (("", rows), ("-summarization-testset", [rows[0], "Short."])):
        folder.mkdir(exist_ok=True)
        with (folder / f"metadata{suffix}.tsv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t")
            writer.writerow(COLUMNS)
            for number, text in enumerate(texts):
                uri = f"spotify:episode:{suffix}{number}"
                writer.writerow(["spotify:show:7bX9", ABOUT, uri, text, "show_7bX9", f"episode{number}"])
        place = folder / f"podcasts-transcripts{suffix}" / "7" / "B" / "show_7bX9"
        place.mkdir(parents=True)
        for number in range(len(texts)):
            welcome = f"Hello and welcome to tower {number}{suffix}. "
            parts = (welcome, "We walk along the rails. ", "Thank you for listening.")
            first, second, third = ({"transcript": part, "words": []} for part in parts)
            spoken = [first, second, {}, third, {"words": [{"word": "Hello"}]}]
            results = [{"alternatives": [part]} for part in spoken]
            (place / f"episode{number}.json").write_text(json.dumps({"results": results}))
    return folder


def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source, out = release(folder / "spotify-podcasts-2020"), folder / "podcasts"
    monkeypatch.setattr("sys.argv", ["podcasts.py", str(source), str(out), "--validation", "10"])
    podcasts.main()
    return out


def test_rows_are_those_of_the_brass_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = make(tmp_path, monkeypatch)
    training = rows_of(out / "train.jsonl")
    assert [row["id"] for row in training] == [f"spotify:episode:{number}" for number in (0, 1, 2, 7, 8, 9)]
    assert training[1] == {
        "id": "spotify:episode:1",
        "document": "Hello and welcome to tower 1. We walk along the rails. Thank you for listening.",
        "summary": "Station 1 of line 1 has a keeper 1 who shows tower 1.",
    }
    assert [row["id"][-2:] for row in rows_of(out / "validation.jsonl")] == ["10", "11"]
    assert [row["summary"] for row in rows_of(out / "test.jsonl")] == [description(0), "Short."]


def test_summaries_are_the_content_words_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["copying.py", str(tmp_path)])
    copying.main()
    rows = rows_of(tmp_path / "validation.jsonl")
    content = {word for row in rows for word in row["summary"].split()}
    assert len(content) == 64
    for row in rows:
        words = row["document"].split()
        assert len(words) == copying.WORDS
        assert [word for word in words if word in content] == row["summary"].split()
        assert len(row["summary"].split()) == copying.CONTENT


def test_sentences_are_written_in_the_order_of_their_numerals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ordered.py", str(tmp_path)])
    ordered.main()
    for row in rows_of(tmp_path / "test.jsonl"):
        sentences = row["summary"].split(". ")
        assert [sentence.split()[0] for sentence in sentences] == ["One", "Two", "Three", "Four", "Five", "Six"]
        assert sorted(row["document"].replace(".", "").split()) == sorted(row["summary"].replace(".", "").split())


def test_passages_are_in_the_layout_of_reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder, text in (
        ("man{}.1.gz", "manuals/man1", ".TH MAN 1\n.SH DESCRIPTION\nlists page {} "),
        ("rfc{}.txt.gz", "rfcs", "A Title\n\n1.  Introduction\n\n   This memo number {} "),
    ):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(3):
            page = text.format(number) + "words of a long paragraph " * 12 + "\n\nShort.\n"
            (tmp_path / folder / name.format(number)).write_bytes(gzip.compress(page.encode()))
    monkeypatch.setattr(genres, "ROWS", {"train": 2, "test": 1})
    monkeypatch.setattr("sys.argv", ["genres.py", *(str(tmp_path / part) for part in ("manuals", "rfcs", "out"))])
    genres.main()
    texts = {path.relative_to(tmp_path / "out").parts: path.read_text() for path in tmp_path.glob("out/*/*/*.txt")}
    assert sorted({parts[:2] for parts in texts}) == [
        (split, side) for split in ("test", "train") for side in ("neg", "pos")
    ]
    assert {len(text) for text in texts.values()} == {genres.BYTES}
    assert all(("lists page" in text) == (parts[1] == "neg") for parts, text in texts.items())
    assert len(set(texts.values())) == 6


STEPS = ("train.steps=3", "train.validate_every=3", "train.batch_tokens=256")
SIZES = ("model.dim=16", "model.heads=2", "model.feed_forward=32")
ENCODER = "model.encoder=[{attention: {kind: sliding_window, window: 16}}]"
BART = [*SIZES, ENCODER, "model.source_length=64", "model.decoder.layers=1", "select.enabled=false"]
BART += ["data.tokenizer=null", "data.vocabulary=300"]
FROM_SCRATCH = "train.init_from=null"


def metrics_of(name: str, *settings: str) -> str:
    """Train a recipe in the working directory; return its metrics."""
    recipe = load_any_recipe(RECIPES / "papers" / f"{name}.yaml", [*STEPS, *settings])
    run = Path("runs") / recipe.name
    train(recipe, run)
    return (run / "metrics.jsonl").read_text()


@pytest.mark.slow
def test_podcasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recipe goes on where the one before it ended."""
    make(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert "kept" not in metrics_of("bart/podcast-lobart", *BART, FROM_SCRATCH)
    assert '"selection"' in metrics_of("bart/podcast-kl_only", *BART)
    assert '"selection"' in metrics_of("bart/podcast-integrated", *BART)


@pytest.mark.slow
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


@pytest.mark.slow
def test_cnn_dailymail_with_the_sparsity_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cnn_dailymail").mkdir()
    for split in ("train", "validation", "test"):
        articles = [f"LONDON, England (Reuters) -- Actor {n} met {split}. He left. He sang." for n in range(6)]
        names = [f"{split}{n}" for n in range(6)]
        rows = {"article": articles, "highlights": ["Actor left .\nHe sang ."] * 6, "id": names}
        pyarrow.parquet.write_table(pyarrow.table(rows), f"cnn_dailymail/{split}-00000-of-00001.parquet")
    assert '"sparsity"' in metrics_of("bart/cnn_dailymail-sparse", *BART, FROM_SCRATCH)


LANGUAGE_MODEL = (*SIZES, "model.layers=[1,1,1]", "model.length=64")


@pytest.mark.slow
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


@pytest.mark.slow
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
    return loaded.tokenizer.decode(split_of(loaded, "train")[:300].tolist())
