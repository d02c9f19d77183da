"""The pieces of another model's vocabulary under our numbers.

`sumpool.special_tokens` fixes the first five numbers, another model has others; so its pieces are renumbered once, in
vocabulary and weights alike, and nothing else ever knows. BEGIN is a piece of its own: other models begin with a piece
that also has another meaning.
"""

from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK


def renumber(vocabulary: int, pad: int, unknown: int, end: int, paragraph: int | None) -> list[int | None]:
    """Say which piece of the other model each of ours is.

    Args:
        vocabulary: Pieces of the other model.
        pad: Its number of padding.
        unknown: Its number of what it cannot spell.
        end: Its number of the end of a text.
        paragraph: Its number of a line feed; None where it has none.

    Returns:
        By our number the number in the other model; None at BEGIN, and at PARAGRAPH where it has no line feed. The
        pieces after the first five keep their order.
    """
    first: dict[int, int | None] = {PAD: pad, UNK: unknown, BOS: None, EOS: end, PARAGRAPH: paragraph}
    rest = [number for number in range(vocabulary) if number not in first.values()]
    return [*(first[number] for number in range(len(first))), *rest]
