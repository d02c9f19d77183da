"""Which sentences of the document a token of the summary sees."""
