"""The pieces that every vocabulary begins with, by id."""

PAD = 0
UNK = 1
"""Never produced: a character without a piece is spelt in bytes."""
BOS = 2
EOS = 3
PARAGRAPH = 4
"""A line break; stands after the last sentence of a paragraph."""
