from collections.abc import Callable
from dataclasses import replace

import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder_layer import EncoderLayer
from sumpool.core.tokens import Tokens


def test_unpadded_documents_need_no_mask(make_tokens: Callable[..., Tokens]) -> None:
    config = ModelConfig.model_validate(
        {"dim": 16, "heads": 2, "feed_forward": 32, "encoder": [{"attention": {"kind": "blockwise", "block": 7}}]}
    )
    layer, tokens = EncoderLayer(config.encoder[0], config).double().eval(), make_tokens(30)
    torch.testing.assert_close(layer(replace(tokens, full=True)).states, layer(tokens).states)
