"""Three training steps of recipes of the papers, on tiny data in the published layouts."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from sumpool.recipe.load import load_any_recipe
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
