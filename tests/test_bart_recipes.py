"""The recipes of paper 3 for BART and LoBART: their sizes, and that each step goes on where the one before it ended."""

from pathlib import Path

import pytest
import torch
from transformers import BartConfig

from sumpool.core.cross_attention import FullCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.pretrained.config import ImportOptions, read_config, to_model_config
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.training.config import ScheduleConfig
from sumpool.training.update import freeze, schedule_factor
from sumpool.workflows.sweep import load_sweep
from tests.test_recipes import RECIPES

DATA = ("cnn_dailymail", "xsum", "arxiv", "podcast")
VOCABULARY = 50_265
"""Tokens of BART-large."""
LOBART = ImportOptions(attention="sliding_window", window=1024, positions=4096, extend="flip")


def recipe(data: str, step: str) -> Recipe:
    return load_recipe(RECIPES / "papers" / "bart" / f"{data}-{step}.yaml")


def build(config: ModelConfig) -> SummarizationModel:
    with torch.device("meta"):
        return SummarizationModel(config, VOCABULARY)


def size(model: SummarizationModel, learning: bool = False) -> int:
    return sum(part.numel() for part in model.parameters() if part.requires_grad or not learning)


def fully(config: ModelConfig) -> ModelConfig:
    """The model that a step begins with."""
    return config.model_copy(
        update={"decoder": config.decoder.model_copy(update={"cross_attention": FullCrossAttentionConfig()})}
    )


@pytest.mark.parametrize("data", DATA)
def test_each_step_starts_from_the_previous_one(data: str) -> None:
    first, second = recipe(data, "kl_only"), recipe(data, "integrated")
    assert second.train.init_from == Path("runs") / first.name
    assert fully(second.model) == fully(first.model)
    assert second.data == first.data
    assert second.summarize == first.summarize
    if data in ("arxiv", "podcast"):
        base = recipe(data, "lobart")
        assert first.train.init_from == Path("runs") / base.name
        assert (base.model, base.data, base.summarize) == (fully(first.model), first.data, first.summarize)
        assert base.train.init_from == base.data.tokenizer
    else:
        assert first.train.init_from == first.data.tokenizer


@pytest.mark.parametrize(("data", "changes"), [("xsum", ImportOptions()), ("arxiv", LOBART), ("podcast", LOBART)])
def test_the_base_is_what_importing_bart_large_gives(data: str, changes: ImportOptions, tmp_path: Path) -> None:
    BartConfig().save_pretrained(tmp_path)  # the sizes are those of BART-large unless told otherwise
    imported = to_model_config(read_config(tmp_path), changes, tmp_path)
    assert fully(recipe(data, "kl_only").model) == imported


def test_hepos_with_local_attention_is_what_importing_bart_large_gives(tmp_path: Path) -> None:
    """The other rows replace the attention of every second layer, or of the decoder."""
    BartConfig().save_pretrained(tmp_path)
    changes = ImportOptions("sliding_window", 256, 8192, "last", "hepos")
    imported = to_model_config(read_config(tmp_path), changes, tmp_path)
    rows = {row.name: row for row in load_sweep(RECIPES / "papers" / "govreport-hepos.yaml").rows}
    assert rows["local"].model == imported
    for kind in ("sinkhorn", "lsh"):
        kinds = [layer.attention.kind for layer in rows[kind].model.encoder]
        assert kinds == ["sliding_window", kind] * 6
        assert rows[kind].model.decoder == imported.decoder
    assert rows["full-cross-attention"].model == fully(rows["sinkhorn"].model)
    assert all(row.train.init_from == row.data.tokenizer for row in rows.values())


def test_selection_with_the_58_8_million_parameters_of_appendix_a_learns_then_the_decoder() -> None:
    for data in DATA:
        first, second = recipe(data, "kl_only"), recipe(data, "integrated")
        model = build(first.model)
        added = size(model) - size(build(fully(first.model)))
        assert added == pytest.approx(58.8e6, rel=0.001)
        freeze(model, first.train.trainable)
        assert size(model, learning=True) == added
        freeze(model, second.train.trainable)  # encoder and embeddings
        learning = {name for name, part in model.named_parameters() if part.requires_grad}
        decoder = model.decoder.named_parameters(prefix="decoder")
        assert learning == {name for name, _ in decoder if ".embed." not in name}


def test_the_learning_rate_is_the_papers() -> None:
    """There, a step is a document, of which an update has two."""
    train = recipe("xsum", "kl_only").train
    assert train.schedule == ScheduleConfig(kind="inverse_sqrt", warmup=10_000)
    for updates in (1, 500, 9_999, 10_001, 40_000):
        step = 2 * updates
        expected = 0.002 * min(step**-0.5, step * 20_000**-1.5)
        rate = train.learning_rate * schedule_factor(updates - 1, train.schedule, train.steps)
        assert rate == pytest.approx(expected, rel=0.001)


def test_the_sparsity_loss_tunes_all_weights_of_the_original() -> None:
    """Equation 5 with its weight in Table 2; selection starts after training, with the ideal sentences."""
    sparse, full = recipe("cnn_dailymail", "sparse"), recipe("cnn_dailymail", "kl_only")
    assert (sparse.train.loss_weights, sparse.train.trainable) == ({"sparsity": 0.1}, ("*",))
    assert size(build(sparse.model)) == size(build(fully(full.model)))
    assert sparse.model.decoder.cross_attention.model_dump(include={"training", "sentences"}) == {
        "training": "full",
        "sentences": 5,
    }
    assert (sparse.data, sparse.summarize, sparse.train.init_from) == (full.data, full.summarize, full.train.init_from)
