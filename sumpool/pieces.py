"""The pieces that every vocabulary begins with, by id."""

PAD = 0
UNKNOWN = 1
"""Never produced: a character without a piece is spelt in bytes."""
BEGIN = 2
END = 3
PARAGRAPH = 4
"""A line break; stands after the last sentence of a paragraph."""
