"""Sentence selection: which sentences of the document a summary token attends to."""
