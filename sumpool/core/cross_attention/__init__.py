"""Cross-attention from the decoder to the encoder's memory."""
