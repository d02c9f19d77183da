"""The summarizer: encoder, decoder and the settings that build them."""
