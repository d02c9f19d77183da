"""A selection that learns from its divergence alone comes near the ideal one, and models with one are trained."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import split_heads
from sumpool.data.batches import Batch
from sumpool.data.shards import Item
from sumpool.interruption import go_on
from sumpool.progress import Progress
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.data_order import TrainingData
from sumpool.training.fit import fit
from sumpool.training.validation import validate
from sumpool.training.weights import weights_of
from tests.training.toy import VOCABULARY, ItemSource, new_run, trace

TRAINABLE = ("decoder.memory_encoder.*", "*.selection.*")
SENTENCES, WORDS = 8, 5
CONFIG = TrainConfig(
    steps=60,
    batch_tokens=2000,
    learning_rate=0.01,
    schedule=ScheduleConfig(kind="cosine", warmup=10),
    loss_weights={"selection": 1.0},
    trainable=TRAINABLE,
    validate_every=60,
    checkpoint_every=1000,
    precision="fp32",
    device="cpu",
)


def long_documents(count: int, seed: int) -> ItemSource:
    """Documents of 8 sentences of 5 tokens."""
    documents, random = ItemSource(0, seed), np.random.default_rng(seed)
    for number in range(count):
        ids, target = (random.integers(5, VOCABULARY, size=size) for size in (SENTENCES * WORDS, 8))
        documents.items.append(Item(f"doc{number}", ids, np.arange(len(ids)) // WORDS, target))
    return documents


def model_with(pool: dict[str, object] | None = None, **cross_attention: object) -> SummarizationModel:
    """The same weights every time."""
    torch.manual_seed(1)
    settings = {
        "dim": 32,
        "heads": 4,
        "feed_forward": 32,
        "dropout": 0.0,
        "source_length": SENTENCES * WORDS,
        "target_length": 8,
        "encoder": [{"attention": {"kind": "blockwise", "block": 8}, "pool": pool}],
        "decoder": {"layers": 2, "cross_attention": {"kind": "sentence", "sentences": 2, **cross_attention}},
    }
    return SummarizationModel(ModelConfig.model_validate(settings), VOCABULARY)


def sharp_model(encoder: str) -> SummarizationModel:
    """A model whose heads have favourites among the words, as a trained one has."""
    model = model_with(training="full", selection={"kind": "approximate", "encoder": {"kind": encoder}})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("cross_attention.query.weight"):
                parameter.mul_(3)
    return model


def judge(model: SummarizationModel, batch: Batch) -> tuple[float, float, float]:
    """The divergence, the share of full attention that is kept, and how many of the ideal sentences are chosen."""
    agreements: list[Tensor] = []

    def compare(module: nn.Module, given: tuple[Tensor, dict[str, Tensor], Tensor], found: object) -> None:
        del found
        queries, remembered, _ = given
        key = split_heads(remembered["words"].chunk(2, dim=-1)[0], 4)
        query = split_heads(module.get_submodule("query")(queries), 4)
        words = (query @ key.transpose(2, 3) / key.size(3) ** 0.5).softmax(-1)
        ideal = words.unflatten(-1, (SENTENCES, WORDS)).sum(-1).mean(1).topk(2).indices
        own = {name.removeprefix("selection."): kept for name, kept in remembered.items() if "selection." in name}
        shares = module.get_submodule("selection")(queries, query, own)
        chosen = shares.exp().mean(1).topk(2).indices
        agreements.append((ideal[..., None] == chosen[..., None, :]).any(-1).float().mean())

    hooks = [layer.get_submodule("cross_attention").register_forward_hook(compare) for layer in model.decoder.layers]
    with torch.no_grad():
        _, losses, metrics = model.train()(batch.ids, batch.mask, batch.sentences, batch.target)
    for hook in hooks:
        hook.remove()
    kept = sum(float(figure) for name, figure in metrics.items() if name.endswith(".kept")) / 2
    return float(losses["selection"]), kept, float(torch.stack(agreements).mean())


@pytest.mark.parametrize("encoder", ["attention", "gru"])
def test_an_approximation_comes_near_the_ideal(encoder: str, tmp_path: Path) -> None:
    model, documents = sharp_model(encoder), long_documents(8, seed=1)
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    material = TrainingData(documents, documents, SENTENCES * WORDS, 8, seed=1)
    batch = material.batch(documents, range(8))
    divergence, kept, agreement = judge(model, batch)
    fit(model, CONFIG, material, new_run(tmp_path / "run"))
    learnt, learnt_kept, learnt_agreement = judge(model, batch)
    assert learnt < divergence / 2
    assert learnt_kept > kept + 0.1
    assert learnt_agreement > agreement + 0.3
    moved = {name for name, tensor in weights_of(model).items() if not torch.equal(tensor, before[name])}
    assert all(name.startswith("decoder.memory_encoder.") or ".selection." in name for name in moved)
    assert any(name.startswith("decoder.memory_encoder.") for name in moved)


@pytest.mark.parametrize("selection", ["ideal", "approximate", "random", "model_free"])
def test_a_pooled_memory_is_learnt_from_and_a_stopped_run_ends_in_the_same_bytes(
    selection: str, tmp_path: Path
) -> None:
    config = CONFIG.model_copy(update={"steps": 8, "trainable": ("*",), "checkpoint_every": 3, "batch_tokens": 80})
    documents = long_documents(8, seed=1)
    material = TrainingData(documents, documents, SENTENCES * WORDS, 8, seed=1)

    def model() -> SummarizationModel:
        pool = {"kind": "halving", "keep": 12}
        return model_with(pool, training="mix", mix_steps=6, selection={"kind": selection})

    def stop(progress: Progress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    whole, run = new_run(tmp_path / "whole"), new_run(tmp_path / "run")
    trained = model()
    before = validate(trained, material, config, torch.device("cpu"), go_on)
    state = fit(trained, config, material, whole)
    assert state.best_loss is not None
    assert state.best_loss < before - 0.1
    with pytest.raises(KeyboardInterrupt):
        fit(model(), config, material, run, report=stop)
    fit(model(), config, material, run)
    assert trace(run) == trace(whole)
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {"sparsity", "selection", "decoder_1.kept", "decoder_2.kept"} <= steps[0].keys()
