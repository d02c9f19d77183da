"""Sources of running text, for language models."""
