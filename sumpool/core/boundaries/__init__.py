"""Boundaries: where one segment of a document ends and the next begins."""
