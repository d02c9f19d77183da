from sumpool.documents.document import TextBlockKind
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.outline import outline


def test_sections_and_paragraphs_are_numbered() -> None:
    kinds: tuple[tuple[TextBlockKind, int], ...] = (
        ("paragraph", 0),
        ("heading", 1),
        ("paragraph", 2),
        ("paragraph", 2),
        ("code", 3),
        ("list_item", 4),
    )
    sentences = [SourceSentence(f"text {kind}", 0, 1, block, kind) for kind, block in kinds]
    places = outline(sentences)
    assert places.indices.tolist() == [0, 2, 3, 5]
    assert places.section.tolist() == [0, 1, 1, 1]
    assert places.paragraph.tolist() == [0, 1, 1, 2]
    assert places.in_paragraph.tolist() == [0, 0, 1, 0]
    assert places.in_section.tolist() == [0, 0, 1, 2]
    assert places.paragraph_in_section.tolist() == [0, 0, 0, 1]
    assert places.is_item.tolist() == [False, False, False, True]
    assert places.headings == ("", "text heading")
    assert outline([]).indices.tolist() == []
