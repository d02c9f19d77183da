"""A model and documents so small that a whole training run takes a second."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.core.attention.blockwise import BlockwiseConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import Summarizer
from sumpool.core.pooling.halving import HalvingConfig
from sumpool.data.shards import Item
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.feed import Material
from sumpool.training.manifest import Manifest

VOCABULARY = 40


class Documents:
    """Documents in memory."""

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

    def __getitem__(self, number: int) -> Item:
        return self.items[number]


def build_model(dropout: float = 0.1, seed: int = 1) -> Summarizer:
    torch.manual_seed(seed)
    attention = BlockwiseConfig(block=8)
    config = ModelConfig(
        dim=16,
        heads=2,
        feed_forward=16,
        dropout=dropout,
        source_length=16,
        target_length=5,
        encoder=(EncoderLayerConfig(attention=attention, pool=HalvingConfig(keep=6)),),
        decoder=DecoderConfig(layers=1),
    )
    return Summarizer(config, VOCABULARY)


@pytest.fixture
def new_model() -> Callable[..., Summarizer]:
    """Builds the same small model every time."""
    return build_model


@pytest.fixture
def material() -> Material:
    return Material(Documents(30, seed=1), Documents(8, seed=2), source_length=16, target_length=5, seed=7)


@pytest.fixture
def config() -> TrainConfig:
    return TrainConfig(
        steps=24,
        batch_tokens=64,
        accumulate=2,
        learning_rate=0.01,
        schedule=ScheduleConfig(kind="cosine", warmup=4),
        label_smoothing=0.1,
        validate_every=8,
        checkpoint_every=3,
        precision="fp32",
        device="cpu",
    )


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[[str], Path]:
    """Makes empty run folders."""

    def make(name: str) -> Path:
        run = tmp_path / name
        run.mkdir()
        Manifest({}).write(run)
        return run

    return make
