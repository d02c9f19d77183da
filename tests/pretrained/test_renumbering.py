from sumpool.pretrained.renumbering import renumber
from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK


def test_every_piece_of_the_other_model_has_one_number() -> None:
    ours = renumber(10, pad=1, unknown=3, end=2, paragraph=7)
    assert [ours[place] for place in (PAD, UNK, BOS, EOS, PARAGRAPH)] == [1, 3, None, 2, 7]
    assert ours[5:] == [0, 4, 5, 6, 8, 9]


def test_a_vocabulary_without_line_feed_leaves_paragraph_empty() -> None:
    ours = renumber(6, pad=1, unknown=3, end=2, paragraph=None)
    assert ours == [1, 3, None, 2, None, 0, 4, 5]
