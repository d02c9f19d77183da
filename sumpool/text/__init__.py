"""Text to token ids: cleaning, sentence splitting and tokenization."""
