"""Models that select sentences are trained and resume."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import TrainingData
from sumpool.data.shards import Item
from sumpool.progress import Progress, no_op
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.fit import fit, validate
from tests.training.toy import VOCABULARY, ToyDocuments, new_run, records_of, trace

SENTENCES, WORDS = 8, 5
CONFIG = TrainConfig(
    steps=8,
    batch_tokens=80,
    learning_rate=0.01,
    schedule=ScheduleConfig(kind="cosine", warmup=10),
    loss_weights={"selection": 1.0},
    validate_every=60,
    checkpoint_every=3,
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


def new_model(selection: str) -> SummarizationModel:
    """Model with fixed initial weights."""
    torch.manual_seed(1)
    mix = {"kind": "sentence", "sentences": 2, "training": "mix", "mix_steps": 6, "selection": {"kind": selection}}
    settings = {
        "dim": 32,
        "heads": 4,
        "feed_forward": 32,
        "dropout": 0.0,
        "source_length": SENTENCES * WORDS,
        "target_length": 8,
        "encoder": [{"attention": {"kind": "blockwise", "block": 8}, "pool": {"kind": "halving", "keep": 12}}],
        "decoder": {"layers": 2, "cross_attention": mix},
    }
    return SummarizationModel(ModelConfig.model_validate(settings), VOCABULARY)


@pytest.mark.parametrize(
    "selection",
    ["approximate", pytest.param("random", marks=pytest.mark.slow)],
)
def test_models_with_selection_and_pooling_train_and_resume_bitwise(selection: str, tmp_path: Path) -> None:
    documents = long_documents(8, seed=1)
    data = TrainingData(documents, documents, SENTENCES * WORDS, 8, seed=1)

    def stop(progress: Progress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    uninterrupted, run = new_run(tmp_path / "uninterrupted"), new_run(tmp_path / "run")
    trained = new_model(selection)
    before = validate(trained, data, CONFIG, torch.device("cpu"), no_op)[0]
    state = fit(trained, CONFIG, data, uninterrupted)
    assert state.best_loss is not None
    assert state.best_loss < before - 0.1
    with pytest.raises(KeyboardInterrupt):
        fit(new_model(selection), CONFIG, data, run, report=stop)
    fit(new_model(selection), CONFIG, data, run)
    assert trace(run) == trace(uninterrupted)
    assert {"sparsity", "selection", "decoder_1.kept", "decoder_2.kept"} <= records_of(run, "step")[0].keys()
