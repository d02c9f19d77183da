from unittest.mock import Mock

import pytest
import torch
from torch import Tensor, nn

from sumpool.bench.workload import Conditions, Documents, Subject, baselines
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import EncoderLayerConfig
from sumpool.core.nn.quantization import Precision
from sumpool.special_tokens import PARAGRAPH
from tests.bench.conftest import CONDITIONS, CPU, LAYER, POOLED


def test_documents_are_full_and_the_same_for_the_same_seed() -> None:
    documents = Documents.random(3, 20, 5, CONDITIONS)
    assert (documents.ids.shape, documents.target.shape) == ((3, 20), (3, 5))
    assert documents.mask.all()
    assert int(documents.ids.min()) > PARAGRAPH
    assert torch.equal(documents.ids, Documents.random(3, 20, 5, CONDITIONS).ids)


def test_baselines_pool_nothing_and_are_not_the_model() -> None:
    found = baselines(POOLED, longest=100)
    assert list(found) == ["model", "blockwise", "vanilla"]
    assert found["model"].encoder == POOLED.encoder
    assert found["blockwise"].encoder == (LAYER, LAYER)
    assert found["vanilla"].encoder == (EncoderLayerConfig(attention=VanillaAttentionConfig()),) * 2
    assert {config.source_length for config in found.values()} == {100}
    assert {config.dim for config in found.values()} == {16}
    plain = POOLED.model_copy(update={"encoder": (LAYER, LAYER)})
    assert list(baselines(plain, longest=16)) == ["model", "vanilla"]


def test_generation_writes_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(POOLED, CONDITIONS)
    step = Mock(side_effect=subject.model.step)
    monkeypatch.setattr(subject.model, "step", step)
    subject.generate(Documents.random(2, 20, 5, CONDITIONS), beams=3, tokens=7)
    # seven tokens and the end, of two documents with three beams each
    assert [len(call.args[0]) for call in step.call_args_list] == [6] * 8


def test_training_leaves_no_gradients_and_no_new_weights() -> None:
    subject = Subject(POOLED, CONDITIONS)
    before = [weights.clone() for weights in subject.model.parameters()]
    subject.train(Documents.random(2, 20, 5, CONDITIONS))
    assert all(weights.grad is None for weights in subject.model.parameters())
    assert all(map(torch.equal, before, subject.model.parameters()))


def test_precision_is_that_of_the_products() -> None:
    for precision in (torch.float32, torch.bfloat16):
        subject = Subject(POOLED, Conditions(40, CPU, precision))
        seen: set[torch.dtype] = set()

        def note(module: nn.Module, given: object, found: Tensor, seen: set[torch.dtype] = seen) -> None:
            del module, given
            seen.add(found.dtype)

        for module in subject.model.decoder.modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(note)
        subject.train(Documents.random(1, 20, 5, CONDITIONS))
        assert seen == {precision}


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_what_reads_and_writes_is_packed(precision: Precision) -> None:
    subject = Subject(POOLED, CONDITIONS, precision)
    documents = Documents.random(2, 20, 5, CONDITIONS)
    subject.encode(documents)
    subject.generate(documents, 2, 3)
    subject.train(documents)
    assert subject.generator is not subject.model
    assert type(subject.model.get_submodule("decoder.layers.0.feed_forward.widen")) is nn.Linear
    weights = sum(weights.numel() for weights in subject.model.parameters())
    assert subject.weights("train") == 4 * weights
    assert subject.weights("encode") == {"fp32": 4, "bf16": 2, "int8": 1}[precision] * weights
    assert (subject.precision_of("generate"), subject.precision_of("train")) == (precision, "fp32")


def test_packed_or_not_it_computes_the_same() -> None:
    plain, packed = Subject(POOLED, CONDITIONS), Subject(POOLED, CONDITIONS, "fp32")
    documents = Documents.random(2, 20, 5, CONDITIONS)
    with torch.inference_mode():
        ours, theirs = (each.encode(documents).tokens.states for each in (plain, packed))
    torch.testing.assert_close(ours, theirs)
