"""A model overfits eight documents."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.output import OutputConfig, PointerOutputConfig, TiedOutputConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.data.batches import TrainingData
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.fit import fit
from tests.training.toy import VOCABULARY, ToyDocuments, new_run

CPU = torch.device("cpu")
LAYER = BlockwiseAttentionConfig(block=8)
CONFIG = TrainConfig(
    steps=100,
    batch_tokens=1000,
    learning_rate=0.01,
    schedule=ScheduleConfig(kind="cosine", warmup=10),
    validate_every=50,
    checkpoint_every=1000,
    precision="fp32",
    device="cpu",
)


def overfit(output: OutputConfig, run: Path, seed: int) -> tuple[float, list[list[int]], list[list[int]]]:
    """Train on eight documents with summaries of others; return the loss, generated summaries and references."""
    torch.manual_seed(seed)
    layers = (
        EncoderLayerConfig(attention=LAYER),
        EncoderLayerConfig(attention=LAYER, pool=HalvingPoolerConfig(keep=8)),
    )
    config = ModelConfig(
        dim=32,
        heads=4,
        feed_forward=64,
        dropout=0.0,
        source_length=20,
        target_length=8,
        encoder=layers,
        decoder=DecoderConfig(layers=2),
        output=output,
    )
    model = SummarizationModel(config, VOCABULARY)
    documents = ToyDocuments(8, seed=3)
    targets = [
        item.target for item in documents.items[1:] + documents.items[:1]
    ]  # targets cannot be copied from the source
    documents.items = [replace(item, target=target) for item, target in zip(documents.items, targets, strict=True)]
    data = TrainingData(documents, documents, config.source_length, config.target_length, seed=seed)
    state = fit(model, CONFIG, data, new_run(run))
    assert state.best_loss is not None
    batch = data.batch(documents, range(8))
    model.eval()
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        start = model.start(memory, 1)
        results = search(model.step, start, [Lengths(1, 8)] * 8, Ranking(1), device=CPU)
    generated = [list(hypotheses[0].tokens) for hypotheses in results]
    return state.best_loss, generated, [item.target.tolist() for item in documents.items if item.target is not None]


@pytest.mark.slow
@pytest.mark.parametrize("output", [PointerOutputConfig(), TiedOutputConfig()], ids=lambda output: output.kind)
def test_eight_documents_are_overfitted(output: OutputConfig, tmp_path: Path) -> None:
    loss, generated, references = overfit(output, tmp_path / "run", seed=1)
    assert loss < 0.05
    assert generated == references
    exchanged = references[1:] + references[:1]
    assert not any(one == other for one, other in zip(generated, exchanged, strict=True))
