"""Preparation of documents that are longer than the input of a model: their best sentences."""

import json
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.shards import Shard
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import CheckpointError
from sumpool.progress import no_op
from sumpool.ranking.features import sentence_features
from sumpool.ranking.ranker import Ranker
from sumpool.ranking.selection import find_candidates
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.recipe.selecting_encoder import shared_pairs
from sumpool.recipe.task import find_task
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import load_tokenizer
from tests.conftest import TINY_RECIPE, story

SHIPPED = Path("sumpool/shipped").absolute()
REFERENCE = "The committee has approved the new bridge. Work begins in spring."
CHOSEN = ["The committee has approved the new bridge.", "Nobody expects that work begins in spring."]
LONG = f"{story(1, 40)} {CHOSEN[0]} {story(2, 40)} {CHOSEN[1]}"


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch, **selection: object) -> tuple[Recipe, Path]:
    """Prepare a long and a short document of each split."""
    monkeypatch.chdir(folder)
    texts = [("long", LONG), ("short", "Rivers fall.")]
    rows = [(f"{name}{number}", text) for number in range(30) for name, text in texts]
    lines = [json.dumps({"id": name, "document": f"{text} Part {name}.", "summary": REFERENCE}) for name, text in rows]
    Path("train.jsonl").write_text("\n".join(lines))
    (folder / "tiny.yaml").write_text(TINY_RECIPE)
    chosen = json.dumps({"tokens": 64, "ranker": str(SHIPPED), **selection})
    settings = [f"data.content_selection={chosen}", "data.source.validation_share=0.3", "data.vocabulary=600"]
    recipe = load_recipe(folder / "tiny.yaml", settings)
    return recipe, find_task(recipe.task).prepare(recipe, report=no_op, check=no_op)[0]


def items(data: Path, split: str) -> list[tuple[str, list[str]]]:
    """Id and sentences of each document that is prepared."""
    tokenizer, shard = load_tokenizer(data), Shard(data, split)  # type: ignore[arg-type]
    found = []
    for item in (shard[number] for number in range(len(shard))):
        assert len(item.ids) == len(item.sentences)
        parts = [item.ids[item.sentences == number].tolist() for number in np.unique(item.sentences)]
        assert np.unique(item.sentences).tolist() == list(range(len(parts)))
        found.append((item.id, [" ".join(tokenizer.decode(part).split()) for part in parts]))
    return found


def test_training_documents_keep_what_their_reference_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = prepared(tmp_path, monkeypatch)
    shard = Shard(data, "train")
    fillers = set()
    for number, (name, sentences) in enumerate(items(data, "train")):
        if name.startswith("long"):
            assert 40 < len(shard[number].ids) <= 64
            assert [text for text in sentences if text in CHOSEN] == CHOSEN
            positions = [LONG.find(text) for text in sentences if text in LONG]
            assert positions == sorted(positions)
            fillers.add(tuple(text for text in sentences if text not in CHOSEN))
    assert len(fillers) > 5  # at random where the reference has nothing


def test_other_documents_keep_what_the_ranker_prefers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of training, if asked for; those that fit are whole."""
    _, data = prepared(tmp_path, monkeypatch, training="ranker")
    for name, sentences in items(data, "validation") + items(data, "train"):
        if name.startswith("short"):
            assert sentences[-1] == f"Part {name}."
            continue
        every = source_sentences(Document(name, f"{LONG} Part {name}."), SentenceSplitter("en"))
        candidates = find_candidates(every)
        scores = Ranker.load(SHIPPED).score(sentence_features(every, candidates, "", "en"))
        best = every[candidates[int(scores.argmax())]].text
        assert best in sentences


def test_prepared_data_depends_on_the_selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, _ = prepared(tmp_path, monkeypatch)
    whole = recipe.data.model_copy(update={"content_selection": None})
    assert "content_selection" not in whole.described()
    assert len(recipe.data.described()["content_selection"]["ranker"]) == 64
    with pytest.raises(CheckpointError, match="must be a sentence ranker"):
        prepared(tmp_path, monkeypatch, ranker=str(tmp_path), training="ranker")


def test_pairs_are_counted_as_often_as_the_reference_has_them() -> None:
    texts = ["New bridge, new BRIDGE.", "the new bridge", "bridge new", ""]
    assert shared_pairs(texts, "The new bridge.").tolist() == [1, 2, 0, 0]
    texts = ["Мост открыли весной.", "Новый Мост открыли.", "新しい橋"]
    assert shared_pairs(texts, "Новый мост открыли, 新しい橋。").tolist() == [1, 2, 3]
