import pytest
import torch

from sumpool.bench.measures.cost import ALL, count_modules
from sumpool.bench.suites.attention_formulas import self_attention
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttentionConfig

SETTINGS = {
    "linformer": LinformerAttentionConfig(rank=5),
    "unreduced": LinformerAttentionConfig(rank=5, unreduced=True, sharing="none"),
    "nystrom": NystromAttentionConfig(landmarks=13, kernel=5, iterations=2),
    "nystrom without convolution": NystromAttentionConfig(landmarks=200, kernel=0),
    "skyformer": SkyformerAttentionConfig(landmarks=27, iterations=3),
    "skyformer both": SkyformerAttentionConfig(landmarks=27, landmarks_from="both", normalize=False),
    "skyformer replacement": SkyformerAttentionConfig(landmarks=27, replacement=True),
}


@pytest.mark.parametrize("length", [12, 13, 187])
@pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_are_counted(config: AttentionConfig, length: int) -> None:
    attention, places = config.build(32, 4), torch.arange(length)[None]
    with torch.inference_mode():
        counted = count_modules(lambda: attention(torch.randn(1, length, 32), places >= 0, places))[ALL]
    cost = self_attention(config, length, 32, 4)
    assert (counted["maps"], counted["products"]) == (cost["maps"], cost["products"])
