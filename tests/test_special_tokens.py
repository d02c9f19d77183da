"""Results do not depend on which ids the special tokens have."""

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.special_tokens import BOS, DEFAULT_SPECIAL_TOKENS, EOS, PAD, PARAGRAPH, UNK, SpecialTokens

VOCAB = 30
PERMUTATION = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(1))
"""New id of each default id."""
PERMUTED = SpecialTokens(
    pad=int(PERMUTATION[PAD]),
    eos=int(PERMUTATION[EOS]),
    decoder_start=int(PERMUTATION[BOS]),
    suppressed=tuple(PERMUTATION[[PAD, UNK, BOS]].tolist()),
)
DOCUMENTS = [
    torch.randint(PARAGRAPH, VOCAB, (length,), generator=torch.Generator().manual_seed(length)).numpy()
    for length in (25, 9, 14)
]


def build(output: str, special_tokens: SpecialTokens) -> SummarizationModel:
    torch.manual_seed(2)
    encoder = [{"attention": {"kind": "vanilla"}, "pool": {"kind": "halving", "keep": 12}}]
    decoder = {"layers": 2, "predict_length": True}
    sizes = {"dim": 32, "heads": 4, "feed_forward": 48, "source_length": 50}
    config = ModelConfig.model_validate({**sizes, "encoder": encoder, "decoder": decoder, "output": {"kind": output}})
    return SummarizationModel(config, VOCAB, special_tokens=special_tokens).double().eval()


@pytest.fixture(params=["pointer", "tied"])
def models(request: pytest.FixtureRequest) -> tuple[SummarizationModel, SummarizationModel]:
    """A model with default ids, and the same model with permuted ids."""
    default, permuted = (build(request.param, special) for special in (DEFAULT_SPECIAL_TOKENS, PERMUTED))
    permuted.load_state_dict(default.state_dict())
    with torch.no_grad():
        permuted.embedding.weight[PERMUTATION] = default.embedding.weight
    return default, permuted


def items(ids: Tensor) -> list[Item]:
    """Documents in these ids of the default ids, the first half of each as its summary."""
    texts = [ids[document].numpy() for document in DOCUMENTS]
    return [
        Item(str(index), text, np.arange(len(text), dtype=np.int32) // 5, text[: len(text) // 2])
        for index, text in enumerate(texts)
    ]


def test_losses_and_summaries_do_not_depend_on_ids(models: tuple[SummarizationModel, SummarizationModel]) -> None:
    losses, tokens, scores = [], [], []
    for model, ids in zip(models, (torch.arange(VOCAB), PERMUTATION), strict=True):
        batch = collate(items(ids), 50, 20, special_tokens=model.special_tokens)
        assert batch.target is not None
        found, auxiliary, _ = model(batch.ids, batch.mask, batch.sentences, batch.target, smoothing=0.1)
        real = (batch.target != batch.pad).sum()
        losses.append(torch.stack([found.nll, found.log_prob.sum(), auxiliary["length"], real]))
        with torch.inference_mode():
            memory = model.encode(batch.ids, batch.mask, batch.sentences)
            rules = Rules([int(ids[7])], [NoRepeatTokens(2)], model.special_tokens)
            hypotheses = search(model.step, model.start(memory, 3), [Lengths(2, 12)] * 3, Ranking(3), rules)
        tokens.append([tuple(ids.argsort()[list(best.tokens)].tolist()) for best, *_ in hypotheses])
        scores.append([best.score for best, *_ in hypotheses])
    assert torch.allclose(losses[0], losses[1], rtol=1e-12)
    assert tokens[0] == tokens[1]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
