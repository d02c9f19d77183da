import re
from itertools import product

from sumpool.text.patterns import any_of


def test_common_anchors_change_no_match() -> None:
    patterns = (r"\ball rights\b|copr\.", r"^\W*by\s*:", r"\b(?:fax|tel)[.|]|\|x", r"[|(]y|\bz\|?", "", r"^(?:a|b)$")
    plain = re.compile("|".join(filter(None, patterns)), re.IGNORECASE)
    pieces = ("All rights", "copr.", " by :", "fax.", "tel|", "|x", "|y", "(y", "z", "a", "b", "w", " ", ", ", "\n")
    for text in map("".join, product(pieces, repeat=3)):
        assert bool(any_of(*patterns).search(text)) == bool(plain.search(text)), text


def test_nothing_matches_no_pattern() -> None:
    assert not any_of("", "").search("")
