"""Self-attention over the source: (batch, length, dim) -> the same, each variant one file."""
