"""Sources of documents with summaries, one per file."""
