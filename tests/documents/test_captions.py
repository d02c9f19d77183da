import pytest

from sumpool.documents.captions import is_caption


@pytest.mark.parametrize(
    "text",
    [
        "Figure 3: Birds.",
        "Fig. 2. Birds",
        "Table IV",
        "Tab. 1 | Birds",
        "Abbildung 2.1: Vögel",
        "Рис. 5. Птицы",
        "図1: 鳥",
    ],
)
def test_labelled_paragraphs_are_captions(text: str) -> None:
    assert is_caption(text)


@pytest.mark.parametrize(
    "text", ["Figure 3 shows birds.", "Tables are made of wood.", "Algorithms 1", "The figure 3: birds", "Plate", ""]
)
def test_sentences_are_none(text: str) -> None:
    assert not is_caption(text)
