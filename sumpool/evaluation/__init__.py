"""How good summaries are, and how sure that is."""
