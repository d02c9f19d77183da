"""The summarization model: encoder, decoder, KV cache, and the settings that build them."""
