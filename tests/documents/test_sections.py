from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.sections import cut_back_matter, is_back_matter, is_caption, mark_contents

LONG = "A paragraph that is long enough to be no entry of a table of contents, and that ends with a stop."


def block(text: str, kind: TextBlockKind = "paragraph", level: int = 0) -> TextBlock:
    return TextBlock(text, kind, level or (kind == "heading"))


def test_back_matter_is_recognised() -> None:
    headings = ["References", "8. References", "VII. Bibliography", "Appendix A. Tables", "APPENDIX 2"]
    headings += ["Acknowledgements.", "Literaturverzeichnis", "Anhang B", "Список литературы", "参考文献", "附录一"]
    assert [heading for heading in headings if not is_back_matter(heading)] == []
    others = ["API reference", "Indexing", "Reference counting", "2. Method"]
    assert [heading for heading in others if is_back_matter(heading)] == []


def test_back_matter_is_cut_to_the_next_heading_of_its_level() -> None:
    blocks = [
        block("Title", "heading"),
        block("one two three"),
        block("References", "heading", 2),
        block("[1] A. Author"),
        block("Books", "heading", 3),
        block("[2] B. Author"),
        block("Conclusion", "heading", 2),
        block("four"),
        block("Appendix A", "heading", 2),
        block("five six"),
    ]
    kept, words = cut_back_matter(blocks)
    assert [item.text for item in kept] == ["Title", "one two three", "Conclusion", "four"]
    assert words == 1 + 3 + 1 + 3 + 2 + 2


def test_document_about_references_is_kept() -> None:
    blocks = [block("References", "heading"), block("one two three four five")]
    assert cut_back_matter(blocks) == (tuple(blocks), 0)
    assert cut_back_matter([]) == ((), 0)


def test_contents_are_notices_up_to_a_heading_of_theirs_or_a_paragraph() -> None:
    for blocks, kinds in [
        (
            [block(name, "heading") for name in ("Title", "Table of Contents", "1. One", "2. Two", "1. One")],
            ["heading", *["notice"] * 3, "heading"],
        ),
        ([block(text) for text in ("Contents", "One", "Two", LONG, "Three")], [*["notice"] * 3, *["paragraph"] * 2]),
        ([block("目录"), block("3.1. 安装概述"), block("本章涉及准备工作。")], ["notice", "notice", "paragraph"]),
        (
            [block("1. Introduction . . . . . . 7"), block("Figure 2 ........ iv"), block("a . . . b")],
            ["notice", "notice", "paragraph"],
        ),
    ]:
        assert [item.kind for item in mark_contents(blocks)] == kinds


def test_labelled_paragraphs_are_captions_and_sentences_are_none() -> None:
    captions = ["Figure 3: Birds.", "Fig. 2. Birds", "Table IV", "Tab. 1 | Birds", "Abbildung 2.1: Vögel"]
    captions += ["Рис. 5. Птицы", "図1: 鳥"]
    assert [text for text in captions if not is_caption(text)] == []
    others = ["Figure 3 shows birds.", "Tables are made of wood.", "Algorithms 1", "The figure 3: birds", "Plate", ""]
    assert [text for text in others if is_caption(text)] == []
