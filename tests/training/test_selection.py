"""Approximate sentence selections approach the ideal selection, and models with selections are trained."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import split_heads
from sumpool.data.batches import Batch, TrainingData
from sumpool.data.shards import Item
from sumpool.progress import Progress, no_op
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.fit import fit, validate
from sumpool.training.weights import weights_of
from tests.training.toy import VOCABULARY, ToyDocuments, new_run, trace

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


def long_documents(count: int, seed: int) -> ToyDocuments:
    """Documents of 8 sentences with 5 tokens each."""
    documents, random = ToyDocuments(0, seed), np.random.default_rng(seed)
    for number in range(count):
        ids, target = (random.integers(5, VOCABULARY, size=size) for size in (SENTENCES * WORDS, 8))
        documents.items.append(Item(f"doc{number}", ids, np.arange(len(ids)) // WORDS, target))
    return documents


def model_with(pool: dict[str, object] | None = None, **cross_attention: object) -> SummarizationModel:
    """Model with fixed initial weights."""
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
    """Model with peaked cross-attention, like a trained one."""
    model = model_with(training="full", selection={"kind": "approximate", "encoder": {"kind": encoder}})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("cross_attention.query.weight"):
                parameter.mul_(3)
    return model


def evaluate(model: SummarizationModel, batch: Batch) -> tuple[float, float, float]:
    """Divergence, fraction of full attention kept, and fraction of the ideal sentences that are selected."""
    agreements: list[Tensor] = []

    def compare(module: nn.Module, args: tuple[Tensor, dict[str, Tensor], Tensor], output: object) -> None:
        del output
        queries, precomputed, _ = args
        key = split_heads(precomputed["words"].chunk(2, dim=-1)[0], 4)
        query = split_heads(module.get_submodule("query")(queries), 4)
        words = (query @ key.transpose(2, 3) / key.size(3) ** 0.5).softmax(-1)
        ideal = words.unflatten(-1, (SENTENCES, WORDS)).sum(-1).mean(1).topk(2).indices
        log_weights = module.get_submodule("selection")(queries, query, precomputed)
        selected = log_weights.exp().mean(1).topk(2).indices
        agreements.append((ideal[..., None] == selected[..., None, :]).any(-1).float().mean())

    hooks = [layer.get_submodule("cross_attention").register_forward_hook(compare) for layer in model.decoder.layers]
    with torch.no_grad():
        _, losses, metrics = model.train()(batch.ids, batch.mask, batch.sentences, batch.target)
    for hook in hooks:
        hook.remove()
    kept = sum(float(value) for name, value in metrics.items() if name.endswith(".kept")) / 2
    return float(losses["selection"]), kept, float(torch.stack(agreements).mean())


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["attention", "gru"])
def test_approximate_selection_approaches_the_ideal(encoder: str, tmp_path: Path) -> None:
    model, documents = sharp_model(encoder), long_documents(8, seed=1)
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    data = TrainingData(documents, documents, SENTENCES * WORDS, 8, seed=1)
    batch = data.batch(documents, range(8))
    divergence, kept, agreement = evaluate(model, batch)
    fit(model, CONFIG, data, new_run(tmp_path / "run"))
    final_divergence, final_kept, final_agreement = evaluate(model, batch)
    assert final_divergence < divergence / 2
    assert final_kept > kept + 0.1
    assert final_agreement > agreement + 0.3
    changed = {name for name, tensor in weights_of(model).items() if not torch.equal(tensor, before[name])}
    assert all(name.startswith("decoder.memory_encoder.") or ".selection." in name for name in changed)
    assert any(name.startswith("decoder.memory_encoder.") for name in changed)


@pytest.mark.parametrize(
    "selection",
    ["approximate", pytest.param("random", marks=pytest.mark.slow)],
)
def test_models_with_selection_and_pooling_train_and_resume_bitwise(selection: str, tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"steps": 8, "trainable": ("*",), "checkpoint_every": 3, "batch_tokens": 80})
    documents = long_documents(8, seed=1)
    data = TrainingData(documents, documents, SENTENCES * WORDS, 8, seed=1)

    def model() -> SummarizationModel:
        pool = {"kind": "halving", "keep": 12}
        return model_with(pool, training="mix", mix_steps=6, selection={"kind": selection})

    def stop(progress: Progress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    uninterrupted, run = new_run(tmp_path / "uninterrupted"), new_run(tmp_path / "run")
    trained = model()
    before = validate(trained, data, config, torch.device("cpu"), no_op)[0]
    state = fit(trained, config, data, uninterrupted)
    assert state.best_loss is not None
    assert state.best_loss < before - 0.1
    with pytest.raises(KeyboardInterrupt):
        fit(model(), config, data, run, report=stop)
    fit(model(), config, data, run)
    assert trace(run) == trace(uninterrupted)
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {"sparsity", "selection", "decoder_1.kept", "decoder_2.kept"} <= steps[0].keys()
