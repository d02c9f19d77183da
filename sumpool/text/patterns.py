"""Large unions of regular expressions."""

import re
from itertools import chain


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of all alternatives, case ignored; empty ones are passed over, and without any nothing matches.

    An anchor that many alternatives begin with is tried once at each place. At the same place, alternatives that begin
    with a word boundary come first, and those without an anchor last.
    """
    by_anchor: dict[str, list[str]] = {r"\b": [], "^": [], "": []}
    for alternative in chain.from_iterable(map(_alternatives, filter(None, patterns))):
        anchor = next(filter(alternative.startswith, by_anchor))
        by_anchor[anchor].append(alternative.removeprefix(anchor))
    groups = (f"{anchor}(?:{'|'.join(rest)})" for anchor, rest in by_anchor.items() if rest)
    return re.compile("|".join(groups) or r"(?!)", re.IGNORECASE)


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at its vertical bars outside of parentheses and brackets."""
    parts, depth = [""], 0
    for part in re.findall(r"\\.|\[[^]]*\]|.", pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += part
    return parts
