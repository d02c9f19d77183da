import torch
from torch import nn
from torch.nn import functional as F

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.skip_matmul import SkipMatmul


def test_products_have_their_shape_and_their_count_but_no_value() -> None:
    for work in (
        lambda: torch.ones(2, 3) @ torch.ones(3, 5),
        lambda: torch.ones(7, 2, 3) @ torch.ones(7, 3, 5),
        lambda: nn.Linear(3, 5)(torch.ones(7, 2, 3)),
        lambda: nn.Linear(3, 5, bias=False)(torch.ones(7, 2, 3)),
        lambda: torch.baddbmm(torch.ones(1, 1, 5), torch.ones(7, 2, 3), torch.ones(7, 3, 5)),
        lambda: F.scaled_dot_product_attention(torch.ones(1, 2, 6, 4), torch.ones(1, 2, 9, 4), torch.ones(1, 2, 9, 4)),
        lambda: F.scaled_dot_product_attention(
            torch.ones(1, 2, 6, 4),
            torch.ones(1, 2, 9, 4),
            torch.ones(1, 2, 9, 4),
            attn_mask=torch.ones(1, 1, 1, 9, dtype=torch.bool),
        ),
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


def test_everything_else_is_computed() -> None:
    with torch.inference_mode(), SkipMatmul():
        assert float(torch.tensor([1.0, 2.0]).sum()) == 3.0
