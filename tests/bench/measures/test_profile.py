from typing import Any

import torch
from torch import nn

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.profile import profile_model
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.kv_cache import KEYS_BLOCK

CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
DIM, KEEP, LENGTH, LAYERS = 16, 8, 32, 2


def subject(output: dict[str, Any]) -> Subject:
    block = {"attention": {"kind": "blockwise", "block": 8}}
    return Subject(
        ModelConfig.model_validate(
            {
                "dim": DIM,
                "heads": 2,
                "feed_forward": 32,
                "source_length": LENGTH,
                "encoder": [block, block | {"pool": {"kind": "halving", "keep": KEEP}}, block],
                "decoder": {"layers": LAYERS},
                "output": output,
            }
        ),
        CONDITIONS,
    )


def numbers(module: nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())


def test_what_a_step_reads() -> None:
    for beams in (1, 3):
        model = subject({"kind": "tied"}).model
        found = profile_model(model, Documents.random(1, LENGTH, 1, CONDITIONS), beams)
        projections = [part for name, part in model.decoder.named_modules() if name.endswith("key_value")]
        layers = numbers(model.decoder.layers) - sum(map(numbers, projections))
        assert found.weights == layers + numbers(model.decoder.norm) + model.embedding.weight.numel()
        slots = beams if beams == 1 else KEYS_BLOCK  # that a step reads, empty ones included
        hiding = LAYERS * KEEP + beams * slots  # padding from all, slots from those that do not descend from them
        assert found.cached == LAYERS * 2 * KEEP * DIM + hiding  # keys and values, whatever the beams
        assert found.output_lengths == (LENGTH, KEEP, KEEP)


def test_a_head_that_copies_reads_its_keys() -> None:
    model = subject({"kind": "pointer", "key": 6, "preceding": 4}).model
    found = profile_model(model, Documents.random(1, LENGTH, 1, CONDITIONS), 1)
    assert found.cached == LAYERS * (2 * DIM + 1) * KEEP + 1 + LENGTH * (6 + 2 * 4 + 1)  # and the bias of each key


def test_operations_are_those_of_reading() -> None:
    ours = subject({"kind": "tied"})
    documents = Documents.random(1, LENGTH, 1, CONDITIONS)
    assert profile_model(ours.model, documents, 1).operations == count(lambda: ours.encode(documents))


def test_a_model_is_left_as_it_was() -> None:
    model = subject({"kind": "tied"}).model.train()
    profile_model(model, Documents.random(1, LENGTH, 1, CONDITIONS), 1)
    assert model.training
    assert not any(layer._forward_pre_hooks for layer in model.encoder.layers)
