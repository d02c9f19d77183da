from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sumpool.bench.measures import ALL, SkipMatmul, Timing, count, count_modules, interleave, probes, profile_model
from sumpool.bench.workload import Documents, Subject
from sumpool.core.model.config import DecoderConfig
from sumpool.core.model.kv_cache import padded_keys
from sumpool.core.output import OutputConfig, PointerOutputConfig, TiedOutputConfig
from tests.bench.conftest import CONDITIONS, CPU, LAYER, POOLED


def test_works_take_turns_after_one_uncounted_repetition() -> None:
    order: list[str] = []
    works = {name: (lambda name=name: order.append(name)) for name in "abc"}
    timings = interleave(works, 2, CPU)
    assert "".join(order) == "abc" * 3
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 2, "b": 2, "c": 2}
    timing = Timing((3.0, 1.0, 1.5))
    assert (timing.median, timing.fastest, timing.spread) == (1.5, 1.0, 3.0)


def test_repetitions_end_by_check_or_with_a_slow_work(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def check() -> None:
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interleave({"a": lambda: done.append(1)}, 5, CPU, check)
    assert len(done) == 2
    monkeypatch.setattr("sumpool.bench.measures.clock", lambda work, _: work())
    timings = interleave({"slow": lambda: 0.02, "fast": lambda: 0.0}, 3, CPU, enough=0.01)
    assert (len(timings["slow"].seconds), len(timings["fast"].seconds)) == (1, 3)


@pytest.mark.usefixtures("small_probes")
def test_probes_of_the_machine() -> None:
    found = probes(CPU, ["fp32", "bf16", "int8", "fp32"])
    assert list(found) == ["fp32 products", "bf16 products", "int8 products", "memory read", "memory copied"]
    assert [found[name][1] for name in ("fp32 products", "memory read", "memory copied")] == [2 * 8**3, 1024, 2048]
    for work, _ in found.values():
        work()


BATCH, HEADS, KEYS, HEAD_DIM = 2, 3, 16, 8
PRODUCT = 2 * BATCH * HEADS * KEYS * KEYS * HEAD_DIM
"""One matrix product of attention: scores, or the mixing of values."""


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(context: Callable[[], AbstractContextManager[None]], masked: bool) -> None:
    states = torch.randn(BATCH, HEADS, KEYS, HEAD_DIM)
    mask = torch.ones(BATCH, 1, 1, KEYS, dtype=torch.bool) if masked else None
    with context():
        assert count(lambda: F.scaled_dot_product_attention(states, states, states, mask)) == 2 * PRODUCT


def test_backward_of_attention_counts_the_scores_again() -> None:
    states = torch.randn(BATCH, HEADS, KEYS, HEAD_DIM, requires_grad=True)

    def work() -> None:
        torch.autograd.backward(F.scaled_dot_product_attention(states, states, states).sum())

    assert count(work) == 7 * PRODUCT


def test_products_have_their_shape_and_their_count_but_no_value() -> None:
    query, keys = torch.ones(1, 2, 6, 4), torch.ones(1, 2, 9, 4)
    for work in (
        lambda: torch.ones(2, 3) @ torch.ones(3, 5),
        lambda: torch.ones(7, 2, 3) @ torch.ones(7, 3, 5),
        lambda: nn.Linear(3, 5)(torch.ones(7, 2, 3)),
        lambda: nn.Linear(3, 5, bias=False)(torch.ones(7, 2, 3)),
        lambda: torch.baddbmm(torch.ones(1, 1, 5), torch.ones(7, 2, 3), torch.ones(7, 3, 5)),
        lambda: F.scaled_dot_product_attention(query, keys, keys),
        lambda: F.scaled_dot_product_attention(query, keys, keys, attn_mask=torch.ones(1, 1, 1, 9, dtype=torch.bool)),
    ):
        with torch.inference_mode():
            real, counted = work(), count(work)
            assert real.any()
            with SkipMatmul():
                found = work()
                assert count(work) == counted > 0
        assert found.shape == real.shape
        assert found.dtype == real.dtype
        assert not found.any()
    counts = count_modules(lambda: nn.Linear(3, 5)(torch.ones(7, 2, 3)) @ torch.ones(7, 5, 2))[ALL]
    assert counts == {"maps": 2 * 14 * 3 * 5, "products": 2 * 7 * 2 * 5 * 2}
    with torch.inference_mode(), SkipMatmul():
        assert float(torch.tensor([1.0, 2.0]).sum()) == 3.0


DIM, KEEP, LENGTH, LAYERS = 16, 8, 32, 2
"""Sizes of the model; it has so many decoder layers."""


def subject(output: OutputConfig) -> Subject:
    layers = {"encoder": (*POOLED.encoder, LAYER), "decoder": DecoderConfig(layers=LAYERS)}
    return Subject(POOLED.model_copy(update={**layers, "output": output}), CONDITIONS)


def numbers(module: nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())


def test_what_a_document_and_a_step_read() -> None:
    documents = Documents.random(1, LENGTH, 1, CONDITIONS)
    for beams in (1, 3):
        ours = subject(TiedOutputConfig())
        model = ours.model.train()
        found = profile_model(model, documents, beams)
        assert model.training
        assert not any(layer._forward_pre_hooks for layer in model.encoder.layers)
        assert found.operations == count(partial(ours.encode, documents))
        projections = [part for name, part in model.decoder.named_modules() if name.endswith("key_value")]
        layers = numbers(model.decoder.layers) - sum(map(numbers, projections))
        assert found.weights == layers + numbers(model.decoder.norm) + model.embedding.weight.numel()
        slots = beams if beams == 1 else padded_keys(beams)  # that a step reads, empty ones included
        hiding = LAYERS * KEEP + beams * slots  # padding from all, slots from those that do not descend from them
        assert found.cached == LAYERS * 2 * KEEP * DIM + hiding  # keys and values, whatever the beams
        assert found.output_lengths == (LENGTH, KEEP, KEEP)


def test_a_head_that_copies_reads_its_keys() -> None:
    model = subject(PointerOutputConfig(key=6, preceding=4)).model
    found = profile_model(model, Documents.random(1, LENGTH, 1, CONDITIONS), 1)
    assert found.cached == LAYERS * (2 * DIM + 1) * KEEP + 1 + LENGTH * (6 + 2 * 4 + 1)  # and the bias of each key
