import pytest

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.ranking.candidate_form import MIN_WORDS, resolve, whole_sentences

WHOLE = [(number, f"Tower number {number} tells all of its birds to wait for the bell.") for number in range(1, 14)]


def test_fragments_are_no_candidates() -> None:
    fragments = [(20, "3.2. Birds"), (21, "of the tower."), (22, "The birds are:"), (23, "The birds (all wait.")]
    assert whole_sentences([*WHOLE, *fragments]) == WHOLE
    assert whole_sentences([*WHOLE, (20, "o  The birds of the tower wait.")])[-1] == (
        20,
        "The birds of the tower wait.",
    )


def test_texts_with_few_whole_sentences_keep_all() -> None:
    few = [*WHOLE[: MIN_WORDS // 13], (20, "of the tower.")]
    assert whole_sentences(few) == few


@pytest.mark.parametrize(("words", "is_dropped"), [(40, True), (60, False)])
def test_candidates_for_a_length_stand_alone(words: int, is_dropped: bool) -> None:
    it = (14, "It rings the bell when all of the birds have come.")
    assert (it not in whole_sentences([*WHOLE, it], LengthTarget(words, False, 0))) == is_dropped
    assert it in whole_sentences([*WHOLE, it])


CANDIDATES = [
    (0, "This is how towers tell their birds to wait."),
    (1, "They do so by a bell."),
    (2, "A bell is loud, and every bird of the town hears it within a minute or two."),
    (5, "It is made of the best bronze."),
    (6, "The bronze comes from the mines of the king."),
    (7, "However, the king has sold them."),
    (8, "It was a bad day."),
]


@pytest.mark.parametrize(
    ("selected", "resolved"),
    [
        ([2, 4], [2, 4]),
        ([4, 2, 1], [2, 4]),
        ([1, 0, 2], [0, 1, 2]),
        ([2, 3], [2]),
        ([5, 2], [2]),
        ([5], [4, 5]),
        ([6], [4, 5, 6]),
        ([3], [3]),
        ([0], [0]),
        ([], []),
    ],
    ids=[
        "none refers",
        "dropped",
        "with predecessor",
        "predecessor is none",
        "however",
        "added",
        "chain",
        "last",
        "first",
        "empty",
    ],
)
def test_references_are_resolved(selected: list[int], resolved: list[int]) -> None:
    assert resolve(selected, CANDIDATES) == resolved
