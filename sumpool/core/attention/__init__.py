"""Self-attention variants: (batch, length, dim) -> (batch, length, dim), one file per variant."""
