import pytest

from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.informer import InformerAttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.skeinformer import SkeinformerAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttentionConfig
from tests.bench.suites.test_formulas import assert_counted

SETTINGS = {
    "linformer": LinformerAttentionConfig(rank=5),
    "unreduced": LinformerAttentionConfig(rank=5, unreduced=True, sharing="none"),
    "nystrom": NystromAttentionConfig(landmarks=13, kernel=5, iterations=2),
    "nystrom without convolution": NystromAttentionConfig(landmarks=200, kernel=0),
    "skyformer": SkyformerAttentionConfig(landmarks=27, iterations=3),
    "skyformer both": SkyformerAttentionConfig(landmarks=27, landmarks_from="both", normalize=False),
    "skyformer replacement": SkyformerAttentionConfig(landmarks=27, replacement=True),
    "informer": InformerAttentionConfig(factor=2),
    "informer per query": InformerAttentionConfig(factor=2, sample="per_query"),
    "informer filled": InformerAttentionConfig(factor=2, filled_length=50),
    "skeinformer": SkeinformerAttentionConfig(samples=13),
    "skeinformer uniform": SkeinformerAttentionConfig(samples=13, sampling="uniform", reuse_pilot=False),
    "skeinformer not normalised": SkeinformerAttentionConfig(samples=13, row_normalization="none"),
}


@pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_are_counted(config: AttentionConfig) -> None:
    assert_counted(config)
