"""Steps of sentence-selective cross-attention, against whole summaries at once."""

import pytest
import torch
from torch import Tensor

from sumpool.core.cross_attention import SentenceCrossAttention, SentenceCrossAttentionConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.tokens import Tokens
from sumpool.settings import kinds
from tests.core.batches import in_sentences, make_tokens

DIM, HEADS, BEAMS = 16, 4, 5
SELECTIONS = kinds("sumpool.core.selection")
LENGTHS = (203, 61, 0, 7)


def build(selection: str, sentences: int = 2) -> tuple[SentenceCrossAttention, SentenceCrossAttentionConfig]:
    settings = {"sentences": sentences, "selection": {"kind": selection}}
    config = SentenceCrossAttentionConfig.model_validate(settings)
    torch.manual_seed(3)
    return config.build(DIM, HEADS).double().eval(), config


def precompute(
    layer: SentenceCrossAttention, config: SentenceCrossAttentionConfig, memory: Tokens
) -> dict[str, Tensor]:
    torch.manual_seed(4)
    return layer.precompute(memory, config.build_memory_encoder(DIM).double().eval()(memory))


@pytest.fixture
def memory() -> Tokens:
    """Documents of 20, 11, no and 4 sentences that grow ever longer, nan in their padding."""
    return in_sentences(make_tokens(*LENGTHS, length=208, pad=torch.nan))


@pytest.fixture
def queries() -> Tensor:
    """Queries of beams that select different sentences, the last two the same."""
    queries_of_steps = 4 * torch.randn(len(LENGTHS), BEAMS, DIM, dtype=torch.float64)
    queries_of_steps[:, -1] = queries_of_steps[:, -2]
    return queries_of_steps


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_step_is_the_same_as_forward(selection: str, memory: Tokens, queries: Tensor) -> None:
    for sentences in (1, 2, 8, 50):
        layer, config = build(selection, sentences)
        precomputed = precompute(layer, config, memory)
        stepped = layer.step(queries, precomputed)
        torch.testing.assert_close(stepped, layer(queries, precomputed).states, atol=1e-12, rtol=0)


def test_empty_documents_give_the_bias(memory: Tokens, queries: Tensor) -> None:
    layer, config = build("approximate")
    stepped = layer.step(queries, precompute(layer, config, memory))
    assert torch.equal(stepped[2], layer.out.bias.expand(BEAMS, DIM))


def test_only_selected_sentences_are_read(memory: Tokens, queries: Tensor) -> None:
    layer, config = build("approximate")
    precomputed = precompute(layer, config, memory)
    expected = layer.step(queries[:1], _first(precomputed))
    selected = layer.select_sentences(queries, precomputed).any(1)
    unread = ~selected.gather(1, precomputed["index"])[0]
    assert unread[: LENGTHS[0]].any()
    words = precomputed["words"].clone()
    words[0, unread] = torch.nan
    actual = layer.step(queries[:1], _first({**precomputed, "words": words}))
    assert torch.equal(actual, expected)


def _first(precomputed: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor[:1] for name, tensor in precomputed.items()}


def test_a_whole_search_is_that_of_each_document_alone() -> None:
    cross_attention = {"kind": "sentence", "sentences": 2, "selection": {"kind": "approximate"}}
    settings = {
        "dim": DIM,
        "heads": HEADS,
        "feed_forward": 32,
        "encoder": [{"attention": {"kind": "vanilla"}}],
        "decoder": {"layers": 2, "cross_attention": cross_attention},
    }
    model = SummarizationModel(ModelConfig.model_validate(settings), 40).double().eval()
    with torch.no_grad():
        model.embedding.weight *= 8  # so that hypotheses differ
    lengths = (90, 33, 150)
    mask = torch.arange(150) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, 40, mask.shape).masked_fill(~mask, 0)
    sentences = (torch.arange(150) // 7).expand(mask.shape)
    bounds = [Lengths(2 + 3 * document, 4 + 3 * document) for document in range(3)]  # ended at different steps

    def decode(rows: slice) -> list[list[tuple[int, ...]]]:
        memory = model.encode(ids[rows], mask[rows], sentences[rows])
        hypotheses = search(model.step, model.start(memory, BEAMS), bounds[rows], Ranking(BEAMS))
        return [[hypothesis.tokens for hypothesis in document] for document in hypotheses]

    with torch.inference_mode():
        together = decode(slice(None))
        assert together == [decode(slice(document, document + 1))[0] for document in range(3)]
