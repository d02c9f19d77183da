"""From sources of documents to batches of token ids."""
