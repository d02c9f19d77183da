from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sumpool.core.model import chunked_encoding
from sumpool.core.output._base import Scores
from sumpool.data.batches import Batch
from sumpool.training.config import TrainConfig
from sumpool.training.update import Updater, moments_of
from tests.training.toy import CONFIG, DATA, are_finite, new_model

CPU = torch.device("cpu")


def batch_of(indices: list[int]) -> Batch:
    return DATA.batch(DATA.training, indices)


def new_updater(model: nn.Module, config: TrainConfig = CONFIG) -> Updater:
    return Updater(model, config, CPU)


def gradients(batches: list[Batch], clip: float = 0.0, clip_value: float = 0.0) -> tuple[dict[str, Tensor], float]:
    model = new_model(dropout=0.0).double()
    updater = new_updater(model, CONFIG.model_copy(update={"clip": clip, "clip_value": clip_value}))
    loss = updater.update(batches, rate=0.0).read()["loss"]
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}, loss


def norm_of(gradients: dict[str, Tensor]) -> float:
    return float(torch.stack([gradient.norm() for gradient in gradients.values()]).norm())


def test_eight_batches_of_one_equal_one_batch_of_eight_with_smoothing() -> None:
    assert CONFIG.label_smoothing > 0
    together, loss = gradients([batch_of(list(range(8)))])
    apart, same_loss = gradients([batch_of([number]) for number in range(8)])
    assert loss == pytest.approx(same_loss, rel=1e-6)
    for name, gradient in together.items():
        torch.testing.assert_close(apart[name], gradient, rtol=1e-9, atol=1e-12)


def test_auxiliary_losses_are_independent_of_batching() -> None:
    class LengthLoss(nn.Module):
        """Model whose only loss with a gradient is auxiliary: the mean length of the documents."""

        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(
            self,
            ids: Tensor,
            mask: Tensor,
            sentences: Tensor,
            target: Tensor,
            phrases: Tensor | None,
            smoothing: float,
            *,
            lengths: tuple[int, ...],
        ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
            del ids, sentences, phrases, smoothing, lengths
            length = mask.sum(1).float().mean()
            return Scores(0.0 * self.scale.sum(), torch.zeros(target.shape)), {"length": self.scale.sum() * length}, {}

    config = CONFIG.model_copy(update={"loss_weights": {"length": 0.5}, "clip": 0.0})
    gradients = []
    for batches in ([[0, 1, 2]], [[0], [1, 2]]):
        model = LengthLoss()
        new_updater(model, config).update([batch_of(indices) for indices in batches], rate=0.0)
        assert model.scale.grad is not None
        gradients.append(model.scale.grad.item())
    lengths = [min(len(DATA.training[number].ids), DATA.source_length) for number in range(3)]
    assert gradients == pytest.approx([0.5 * sum(lengths) / 3] * 2)


def test_clipping_bounds_the_norm_and_reports_the_unclipped_norm() -> None:
    free, _ = gradients([batch_of([0, 1])])
    clipped, _ = gradients([batch_of([0, 1])], clip=0.01)
    assert norm_of(clipped) == pytest.approx(0.01, rel=1e-3)
    model = new_model(dropout=0.0)
    reported = new_updater(model).update([batch_of([0, 1])], rate=0.0).read()["norm"]
    assert reported == pytest.approx(norm_of(free), rel=1e-3)


def test_values_of_gradients_are_cut_off() -> None:
    free, _ = gradients([batch_of([0, 1])])
    limit = max(float(gradient.abs().max()) for gradient in free.values()) / 3
    cut, _ = gradients([batch_of([0, 1])], clip_value=limit)
    for name, gradient in free.items():
        torch.testing.assert_close(cut[name], gradient.clamp(-limit, limit))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_update_from_the_first_non_finite_gradient_on(value: float) -> None:
    model = new_model()
    updater = new_updater(model)
    updater.update([batch_of([0, 1])], rate=0.01)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    moments = {name: tensor.clone() for name, tensor in moments_of(updater.optimizer, model).items()}
    hook = model.embedding.weight.register_hook(lambda gradient: gradient * value)
    assert not are_finite(updater.update([batch_of([2, 3])], rate=0.01).read())
    hook.remove()
    updater.update([batch_of([4, 5])], rate=0.01)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert all(torch.equal(tensor, moments[name]) for name, tensor in moments_of(updater.optimizer, model).items())


def test_bf16_keeps_weights_and_moments_in_single_precision() -> None:
    model = new_model(dropout=0.0)
    updater = new_updater(model, CONFIG.model_copy(update={"precision": "bf16"}))
    metrics = updater.update([batch_of([0, 1])], rate=0.01).read()
    assert metrics["loss"] == pytest.approx(gradients([batch_of([0, 1])])[1], rel=0.02)
    assert {tensor.dtype for tensor in moments_of(updater.optimizer, model).values()} == {torch.float32}


class RoundingCounter(TorchDispatchMode):
    """Count of conversions to bf16 by memory address."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.times: Counter[int] = Counter()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if func is torch.ops.aten._to_copy.default and kwargs and kwargs["dtype"] is torch.bfloat16:
            assert isinstance(args[0], Tensor)
            self.times[args[0].data_ptr()] += 1
        return func(*args, **(kwargs or {}))


def test_bf16_rounds_every_weight_once_and_keeps_gradients_in_single_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        chunked_encoding, "CPU_BUDGET", chunked_encoding.MemoryBudget(chunk=1, document=2**20)
    )  # every layer runs several times
    model = new_model()
    updater = new_updater(model, CONFIG.model_copy(update={"precision": "bf16"}))
    with RoundingCounter() as counter:
        updater.update([batch_of([0, 1, 2])], rate=0.01)
    times = {name: counter.times[parameter.data_ptr()] for name, parameter in model.named_parameters()}
    assert {name for name, count in times.items() if count != 1} == {name for name in times if "norm" in name}
    assert {parameter.grad.dtype for parameter in model.parameters() if parameter.grad is not None} == {torch.float32}
