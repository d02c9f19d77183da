"""A recorded step beside the plain one; where there is no GPU, what records it works everything out anew."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import step as decoding_step
from sumpool.core.decoding.beam import Hypothesis, search
from sumpool.core.decoding.ranking import Lengths, Ranking
from sumpool.core.model.cuda_graph import GraphedDecoder, StepOutput, capture_graph
from sumpool.core.model.kv_cache import CompactingCache, StaticCache
from sumpool.core.model.summarizer import SummarizationModel
from tests.core.model.test_summarizer import VOCAB, make_documents, make_model

DEVICES = [
    ("cpu", "pointer"),
    ("cpu", "tied"),
    pytest.param(
        "cuda",
        "pointer",
        marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
    ),
]


def tensors(found: StepOutput) -> list[Tensor]:
    log_probs, state = found
    kept = [log_probs]

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    state.apply(keep)
    return kept


class Again:
    """Records like a graph: the same function, results in the same tensors, shapes as they were."""

    def __init__(self) -> None:
        self.recorded = 0
        self.replayed = 0

    def __call__(self, run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
        self.recorded += 1
        found = run()

        def replay() -> None:
            self.replayed += 1
            for before, after in zip(tensors(found), tensors(run()), strict=True):
                assert before.shape == after.shape
                if before.data_ptr() != after.data_ptr():
                    before.copy_(after)

        return found, replay


def summaries(model: SummarizationModel, steps: GraphedDecoder, lengths: list[int]) -> list[list[Hypothesis]]:
    device = model.embedding.weight.device
    memory = model.encode(*(part.to(device) for part in make_documents(*lengths)))
    bounds = [Lengths(3, 12 + number) for number in range(len(lengths))]
    return search(steps.step, steps.start(memory, 3, 15), bounds, Ranking(3), device=device)


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for ended, others in zip(found, expected, strict=True):
        assert [one.tokens for one in ended] == [one.tokens for one in others]
        assert [one.score for one in ended] == pytest.approx([one.score for one in others], abs=1e-9)


@pytest.mark.parametrize(("device", "output"), DEVICES)
def test_a_replayed_search_finds_the_same(device: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(output=output).double().requires_grad_(False).to(device)
    replayed = GraphedDecoder(model, capture_graph if device == "cuda" else Again())
    plain = GraphedDecoder(model)
    monkeypatch.setattr(plain, "_record", None)
    for lengths in ([70, 40, 9, 12], [70, 41, 8, 30], [50, 40]):  # the second batch has the shapes of the first
        expected = summaries(model, plain, lengths)
        for share in (1.0, 0.5):
            monkeypatch.setitem(decoding_step._LEAVE_AT, device, share)
            assert_same(summaries(model, replayed, lengths), expected)


def test_shapes_that_were_recorded_are_replayed() -> None:
    model = make_model().requires_grad_(False)
    again = Again()
    steps = GraphedDecoder(model, again)

    def write(tokens: int, *lengths: int) -> None:
        with torch.inference_mode():
            state = steps.start(model.encode(*make_documents(*lengths)), 2, tokens)
            for _ in range(tokens):
                _, state = steps.step(torch.randint(5, VOCAB, (2 * len(lengths),)), state)

    for tokens in (3, 7, 5):
        write(tokens, 70, 40)
    assert again.recorded == 1, "there is room for 64 steps each time"
    assert again.replayed == 2 + 6 + 4
    for length in range(10, 16):
        write(2, length)
    assert len(steps._recordings) == 4


@pytest.mark.parametrize("cross_attention", ["full", "ideal"])
def test_only_a_gpu_has_steps_recorded(cross_attention: str) -> None:
    model = make_model(cross_attention=cross_attention)
    assert model.decoder.has_fixed_shapes == (cross_attention == "full")
    memory = model.encode(*make_documents(9))
    assert isinstance(GraphedDecoder(model).start(memory, 2, 5).written, CompactingCache)
    assert isinstance(GraphedDecoder(model, Again()).start(memory, 2, 5).written, StaticCache)
