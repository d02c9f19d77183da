"""Data preparation: from documents with summaries to batches of token ids."""
