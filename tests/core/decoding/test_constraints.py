"""No repeated runs of words: against a slow definition, over random vocabularies and random texts."""

import random
import re
import time

import pytest

from sumpool.core.decoding.constraints import NoRepeatTokens, NoRepeatWords, WordPieces

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
# few letters, so that words meet again often and in many spellings: by pieces, by bytes, across line breaks
PIECES = [
    *SPECIAL,
    "\n",
    "▁",
    "▁a",
    "▁b",
    "▁ab",
    "▁aba",
    "a",
    "b",
    "ab",
    "ba",
    "é",
    "<0x20>",
    "<0x61>",
    "<0xC3>",
    "<0xA9>",
    "▁<0xC3>",
]


def surface(piece: int) -> bytes:
    """What a piece spells; "▁" is a space and <0x41> a byte, which may be part of a character."""
    plain = PIECES[piece].replace("▁", " ").encode()
    return re.sub(rb"<0x(..)>", lambda found: bytes.fromhex(found[1].decode()), plain)


SURFACES = [b"" if piece < len(SPECIAL) else surface(piece) for piece in range(len(PIECES))]


def text(pieces: list[int]) -> bytes:
    return b"".join(map(surface, pieces))


def ends_in_a_repeated_run(words: list[bytes], length: int) -> bool:
    runs = [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
    return bool(runs) and runs[-1] in runs[:-1]


def naively_forbidden(pieces: list[int], length: int) -> set[int]:
    """Every piece with which the text would newly end in a run of words that stands there already."""
    before = text(pieces).split()
    after = {piece: text([*pieces, piece]).split() for piece in range(len(SPECIAL), len(PIECES))}
    return {piece for piece, words in after.items() if words != before and ends_in_a_repeated_run(words, length)}


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_forbids_what_the_definition_forbids_and_nothing_else(length: int) -> None:
    choice = random.Random(length)
    vocabulary = WordPieces(SURFACES)
    forbidden_at_all = 0
    for _ in range(60):
        pieces: list[int] = []
        favour = [choice.random() ** 8 for _ in PIECES]  # each text has a few favourite pieces, so that runs come again
        rule = NoRepeatWords(length, vocabulary)
        while len(pieces) < 40:
            expected = naively_forbidden(pieces, length)
            assert set(rule.forbidden()) == expected, text(pieces)
            forbidden_at_all += len(expected)
            allowed = [piece for piece in range(len(SPECIAL), len(PIECES)) if piece not in expected]
            pieces += choice.choices(allowed, [favour[piece] for piece in allowed])
            rule = rule.after(pieces[-1])
        words = text(pieces).split()
        runs = [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
        assert len(set(runs)) == len(runs)
    assert forbidden_at_all > 50


def written(rule: NoRepeatWords, spelling: str) -> NoRepeatWords:
    for piece in spelling.split():
        rule = rule.after(PIECES.index(piece))
    return rule


def test_a_word_is_recognised_in_every_spelling() -> None:
    rule = written(NoRepeatWords(1, WordPieces(SURFACES)), "▁ab ▁b ▁a")
    assert {PIECES[piece] for piece in rule.forbidden()} == {"▁a", "▁b", "▁ab", "b"}


def test_the_end_is_never_forbidden() -> None:
    rule = written(NoRepeatWords(1, WordPieces([*SURFACES, b"</s>"])), "▁a ▁b")
    assert SPECIAL.index("</s>") not in rule.forbidden()


def test_a_word_may_go_on_beyond_an_earlier_one() -> None:
    rule = written(NoRepeatWords(1, WordPieces(SURFACES)), "▁a ▁ab")
    assert PIECES.index("a") not in rule.forbidden()  # "aba" is another word


def test_hypotheses_share_a_rule_without_harm() -> None:
    rule = written(NoRepeatWords(1, WordPieces(SURFACES)), "▁a ▁b ▁")
    forbidden = rule.forbidden()
    assert rule.after(PIECES.index("ab")).after(PIECES.index("▁b")).forbidden() != forbidden
    assert rule.forbidden() == forbidden


def test_is_cheap() -> None:
    """128 hypotheses of 150 pieces must cost little beside a decoder's milliseconds per step."""
    choice = random.Random(1)
    letters = [chr(ord("a") + number) for number in range(26)]
    pieces = [*("", "", "", ""), *(" " + first + second for first in letters for second in letters), *letters]
    vocabulary = WordPieces([piece.encode() for piece in pieces])
    start = time.process_time()
    for _ in range(128):
        rule = NoRepeatWords(3, vocabulary)
        for _ in range(150):
            rule.forbidden()
            rule = rule.after(choice.randrange(len(SPECIAL), len(vocabulary.parts)))
    assert time.process_time() - start < 1  # 0.08 seconds measured; a step function takes seconds for as much


def test_a_piece_of_white_space_ends_a_word_whatever_its_spaces() -> None:
    no_break = "\u00a0".encode()
    vocabulary = WordPieces([b"a", no_break + b" ", b" " + no_break, b" \xe2", "—".encode()])
    assert vocabulary.starts == [False, True, True, True, False]
    assert vocabulary.parts == [b"a", b"", no_break, b"\xe2", "—".encode()]  # only what no word can hold is taken off


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_runs_of_pieces_are_forbidden_as_defined(length: int) -> None:
    choice = random.Random(length)
    for _ in range(60):
        pieces: list[int] = []
        rule = NoRepeatTokens(length)
        for _ in range(40):
            runs = [tuple(pieces[start : start + length]) for start in range(len(pieces) - length + 1)]
            context = tuple(pieces[len(pieces) - length + 1 :]) if len(pieces) >= length - 1 else None
            expected = {run[-1] for run in runs if run[:-1] == context}
            assert len(rule.forbidden()) == len(expected)
            assert set(rule.forbidden()) == expected
            pieces.append(choice.randrange(4, 4 + 2 * length))  # forbidden ones too, as forced pieces may be
            rule = rule.after(pieces[-1])


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        NoRepeatWords(0, WordPieces(SURFACES))
    for piece in (b" of the", b"of ", b"a\n"):
        with pytest.raises(ValueError, match="surfaces must hold white space before a word only, got"):
            WordPieces([b"", piece])
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        NoRepeatTokens(0)
