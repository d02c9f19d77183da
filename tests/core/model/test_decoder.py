import pytest
import torch

from sumpool.core.model.decoder import Written

CUDA = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("gradients", [False, True])
def test_hypotheses_that_change_places_keep_what_they_wrote(device: str, gradients: bool) -> None:
    torch.manual_seed(1)

    def drawn(rows: int) -> torch.Tensor:
        return torch.randn(rows, 2, 1, 3, device=device, requires_grad=gradients)

    key, value = drawn(6), drawn(6)
    written = Written(key, value, {"choice": torch.arange(6, device=device)})
    choice = written.held["choice"]
    with torch.set_grad_enabled(gradients):
        for changes in (1, 0, 2, 3, 1):
            for _ in range(changes):
                rows = torch.randint(len(choice), (len(choice) - (changes == 3),), device=device)
                written, choice = written.take(rows), choice[rows]
                key, value = key[rows], value[rows]
            more, other = drawn(len(choice)), drawn(len(choice))
            forked = written.append(other, more)
            written = written.append(more, other)
            assert torch.equal(forked.key[:, :, -1:], other), "one state can be gone on from twice"
            key, value = torch.cat([key, more], dim=2), torch.cat([value, other], dim=2)
            assert torch.equal(written.key, key)
            assert torch.equal(written.value, value)
            assert torch.equal(written.held["choice"], choice)
