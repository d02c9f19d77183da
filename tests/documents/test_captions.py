from sumpool.documents.sections import is_caption


def test_labelled_paragraphs_are_captions() -> None:
    for text in [
        "Figure 3: Birds.",
        "Fig. 2. Birds",
        "Table IV",
        "Tab. 1 | Birds",
        "Abbildung 2.1: Vögel",
        "Рис. 5. Птицы",
        "図1: 鳥",
    ]:
        assert is_caption(text)


def test_sentences_are_none() -> None:
    for text in [
        "Figure 3 shows birds.",
        "Tables are made of wood.",
        "Algorithms 1",
        "The figure 3: birds",
        "Plate",
        "",
    ]:
        assert not is_caption(text)
