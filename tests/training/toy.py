"""Model and documents for training runs of a second or two."""

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.data.batches import TrainingData
from sumpool.data.shards import Item
from sumpool.io.manifest import Manifest
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.fit import fit
from sumpool.training.journal import Journal

VOCABULARY = 40

MODEL = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=16,
    source_length=16,
    target_length=5,
    encoder=(EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8), pool=HalvingPoolerConfig(keep=6)),),
    decoder=DecoderConfig(layers=1),
)

CONFIG = TrainConfig(
    steps=18,
    batch_tokens=64,
    accumulate=2,
    learning_rate=0.01,
    schedule=ScheduleConfig(kind="cosine", warmup=4),
    label_smoothing=0.1,
    validate_every=6,
    checkpoint_every=2,
    precision="fp32",
    device="cpu",
)


class ToyDocuments:
    """Random documents in memory, summarised by their first tokens."""

    def __init__(self, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.items = []
        for number in range(count):
            ids = random.integers(5, VOCABULARY, size=random.integers(6, 20))
            self.items.append(Item(f"doc{seed}-{number}", ids, np.arange(len(ids)) // 5, ids[: random.integers(2, 6)]))

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(item.ids) for item in self.items])

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Item:
        return self.items[index]


DATA = TrainingData(ToyDocuments(30, seed=1), ToyDocuments(8, seed=2), source_length=16, target_length=5, seed=7)


def new_model(dropout: float = 0.1) -> SummarizationModel:
    """Model with fixed initial weights."""
    torch.manual_seed(1)
    return SummarizationModel(MODEL.model_copy(update={"dropout": dropout}), VOCABULARY)


def new_run(run: Path) -> Path:
    """Create an empty run folder."""
    run.mkdir()
    Manifest({}).write(run)
    return run


def train(run: Path) -> None:
    """Start or resume the run; for a separate process."""
    torch.set_num_threads(1)
    fit(new_model(), CONFIG, DATA, run)


def trace(run: Path) -> dict[str, str]:
    """Reproducible content of a run folder: the hash of every file, and the metrics log without times."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != "metrics.jsonl")
    hashes = {str(path.relative_to(run)): sha256(path.read_bytes()).hexdigest() for path in files}
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    timed = {"seconds", "data_seconds", "tokens_per_second"}
    journal = [{name: value for name, value in record.items() if name not in timed} for record in records]
    return {**hashes, "journal": json.dumps(journal)}


def records_of(run: Path, kind: str) -> list[dict[str, Any]]:
    """Read the records of a kind in the metrics log."""
    return [record for record in Journal(run / "metrics.jsonl").read() if record["kind"] == kind]


def are_finite(metrics: Mapping[str, float]) -> bool:
    """Return whether loss and gradient of an update were finite, so that it was made."""
    return all(math.isfinite(metrics[name]) for name in ("loss", "nats", "norm"))
