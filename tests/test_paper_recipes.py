"""The recipes of the papers' models: their sizes, and that the same model is the same everywhere."""

from pathlib import Path

import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.settings import kinds
from sumpool.studies import tables as paper_times
from sumpool.studies.attentions import SWEEP, attention_config
from sumpool.workflows.sweep import load_sweep
from tests.test_recipes import RECIPES, SWEEPS

PAPERS = RECIPES / "papers"
DATA = ("arxiv", "pubmed", "rfc")
MODELS = sorted(path.stem for path in (PAPERS / "arxiv").glob("*.yaml"))
DEEP = {"deep_blockwise", "deep_pyramidion"}
BART_TOKENS = 50_265
"""Tokens of BART-large, the tokenizer of sweeps that name one."""


def paper_recipe(data: str, model: str) -> Recipe:
    return load_recipe(PAPERS / data / f"{model}.yaml")


def parameters(config: ModelConfig, vocabulary: int) -> int:
    with torch.device("meta"):
        model = SummarizationModel(config, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def test_every_model_has_a_recipe_for_every_set_of_documents() -> None:
    found = {path.relative_to(PAPERS) for data in DATA for path in (PAPERS / data).glob("*.yaml")}
    assert found == {Path(data) / f"{model}.yaml" for data in DATA for model in MODELS}
    assert {"blockwise", "pyramidion", "transpooler"} | DEEP <= set(MODELS)


def test_a_model_is_the_same_for_all_documents_and_has_the_settings_of_its_table() -> None:
    by_documents = {"accumulate", "checkpoint_every", "init_from", "steps", "validate_every"}
    fine_tuned = {"steps", "init_from", "validate_every"}
    for model in MODELS:
        arxiv, *others = (paper_recipe(data, model) for data in DATA)
        for other in others:
            assert other.model == arxiv.model
            assert other.summarize == arxiv.summarize
            assert other.train.model_dump(exclude=by_documents) == arxiv.train.model_dump(exclude=by_documents)
        like = paper_recipe("arxiv", "deep_blockwise" if model in DEEP else "blockwise")
        assert arxiv.model.model_copy(update={"encoder": like.model.encoder}) == like.model, model
        assert arxiv.summarize == like.summarize
        assert arxiv.train.model_dump(exclude=fine_tuned) == like.train.model_dump(exclude=fine_tuned), model


def test_models_have_the_124_million_parameters_of_table_6_and_nearly_the_32_of_table_5() -> None:
    """31.1 million, 2.8 % fewer; if their 32k were 32,768 pieces, 31.5. No layer of their size has the rest."""
    for model in DEEP:
        assert parameters(paper_recipe("arxiv", model).model, 32_000) == pytest.approx(124e6, rel=0.005)
    config = paper_recipe("arxiv", "blockwise").model
    assert parameters(config, 32_000) == 31_096_832
    assert parameters(config, 32_768) == pytest.approx(32e6, rel=0.017)


@pytest.mark.slow
def test_every_row_of_a_sweep_builds() -> None:
    for path in SWEEPS:
        for row in load_sweep(path).rows:
            vocabulary = BART_TOKENS if row.data.tokenizer else row.data.vocabulary
            assert vocabulary
            assert parameters(row.model, vocabulary) > 0, (path, row.name)


def test_shallow_rows_are_the_models_that_are_benchmarked() -> None:
    rows = {int(row.name[:2]): row for row in load_sweep(PAPERS / "shallow.yaml").rows}
    published = {int(row["label"][1:]): config for config, row in paper_times.rows(10)}
    twice = {25, 29, 31, 28}  # which the paper prints twice
    assert rows.keys() == published.keys() - twice
    assert published[28] == published[4]
    for number, row in rows.items():
        assert row.model == published[number], row.name


def test_power_is_fine_tuned_from_a_row_above_it_with_its_own_length() -> None:
    loaded = load_sweep(PAPERS / "shallow.yaml")
    above: dict[Path, Recipe] = {}
    begun = []
    for row in loaded.rows:
        if beginning := row.train.init_from:
            assert isinstance(beginning, Path)
            begun.append(row.name)
            first = above[beginning]
            assert first.model.source_length == row.model.source_length
        above[Path("runs/shallow") / f"{row.name}-seed{loaded.settings.seeds[0]}"] = row
    assert len(begun) == 3


LOCAL = ("vanilla", "convolutional", "multi-head-convolutional", "combined", "neighborhood")


def test_attentions_are_compared_at_4096_tokens() -> None:
    rows = load_sweep(PAPERS / "attention.yaml").rows
    assert {row.name for row in rows} == set(kinds("sumpool.core.attention"))
    for row in rows:
        assert {layer.attention.kind for layer in row.model.encoder} == {row.name}
        assert row.model.source_length == 4096
        assert row.model.encoder[0].attention == row.model.encoder[1].attention


def test_models_of_paper_5_have_its_settings_and_the_same_attentions_large_and_small() -> None:
    names = ("rfc", "wikihow", "sample", "sweep")
    rfc, wikihow, sample, sweep = (load_sweep(PAPERS / f"local-{name}.yaml").rows for name in names)
    assert all(tuple(row.name for row in rows) == LOCAL for rows in (rfc, wikihow, sample))
    for row in (*rfc, *wikihow):
        assert (row.model.dim, row.model.heads, len(row.model.encoder), row.model.decoder.layers) == (512, 8, 6, 6)
        assert row.train.learning_rate == pytest.approx((512 * 2000) ** -0.5, rel=1e-3)
        assert (row.train.schedule.kind, row.train.schedule.warmup) == ("inverse_sqrt", 2000)
        assert len({layer.attention for layer in row.model.encoder}) == 1
    for row, other in zip(sample, rfc, strict=True):
        assert {layer.attention for layer in row.model.encoder} == {layer.attention for layer in other.model.encoder}
    assert sweep[0].model == sample[0].model
    attentions = [attention_config(name, 1000, 4) for name in SWEEP]  # those that are measured
    for layer in (0, 1):
        assert [row.model.encoder[layer].attention for row in sweep[1:]] == attentions
