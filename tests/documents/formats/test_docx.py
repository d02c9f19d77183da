from pathlib import Path

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.docx import parse
from tests.documents.formats.office_files import RELATIONS, W, archive, docx, word_paragraph


def shapes(content: bytes) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(content, DEFAULT_OPTIONS).blocks]


def test_styles_give_title_headings_captions_and_code() -> None:
    content = docx(
        word_paragraph("Water", "Title")
        + word_paragraph("Contents 3", "toc1")
        + word_paragraph("Rivers", "heading2")
        + word_paragraph("They flow.")
        + word_paragraph("Figure 1: A river", "caption")
        + word_paragraph("x = 1", "HTMLPreformatted")
        + word_paragraph("  y = 2", "HTMLPreformatted")
    )
    assert parse(content, DEFAULT_OPTIONS).title == "Water"
    assert shapes(content) == [
        ("heading", 1, "Water"),
        ("heading", 2, "Rivers"),
        ("paragraph", 0, "They flow."),
        ("caption", 0, "Figure 1: A river"),
        ("code", 0, "x = 1\n  y = 2"),
    ]


def test_deletions_and_comments_are_left_out_and_insertions_kept() -> None:
    body = (
        "<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t xml:space='preserve'> new</w:t></w:r></w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:commentReference w:id='0'/></w:r></w:p>"
    )
    comments = (
        f'<w:comments xmlns:w="{W}"><w:comment w:id="0"><w:p><w:r><w:t>Why?</w:t></w:r></w:p></w:comment></w:comments>'
    )
    relation = f'<Relationship Id="c1" Type="{RELATIONS}/comments" Target="comments.xml"/>'
    assert shapes(docx(body, {"word/comments.xml": comments}, relation)) == [("paragraph", 0, "kept new")]


def test_footnotes_come_last() -> None:
    body = "<w:p><w:r><w:t>Text</w:t></w:r><w:r><w:footnoteReference w:id='1'/></w:r><w:r><w:t>.</w:t></w:r></w:p>"
    note = f'<w:footnote w:id="1">{word_paragraph("A note.")}</w:footnote>'
    notes = f'<w:footnotes xmlns:w="{W}">{note}</w:footnotes>'
    relation = f'<Relationship Id="f1" Type="{RELATIONS}/footnotes" Target="footnotes.xml"/>'
    content = docx(body + word_paragraph("More."), {"word/footnotes.xml": notes}, relation)
    assert [text for _, _, text in shapes(content)] == ["Text.", "More.", "A note."]


def test_rows_of_a_table() -> None:
    cell = "<w:tc>{}</w:tc>".format
    body = f"<w:tbl><w:tr>{cell(word_paragraph('a'))}{cell(word_paragraph('b'))}</w:tr></w:tbl>"
    assert shapes(docx(body)) == [("table_row", 0, "a | b")]


def test_title_of_the_properties_is_used_unless_the_program_put_it_in() -> None:
    core = '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title></c>'
    for title, expected in (("Annual report", "Annual report"), ("Microsoft Word - x.doc", "Rain")):
        content = docx(word_paragraph("Rain", "heading1"), {"docProps/core.xml": core.format(title)})
        assert parse(content, DEFAULT_OPTIONS).title == expected


def test_a_heading_below_text_is_no_title() -> None:
    content = docx(word_paragraph("The court heard the case in May.") + word_paragraph("Introduction", "heading1"))
    assert parse(content, DEFAULT_OPTIONS).title == ""


def test_linked_pictures_are_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    body = (
        '<w:p><w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:link="p1"/>'
        "</w:drawing></w:r><w:r><w:t>text</w:t></w:r></w:p>"
    )
    relation = f'<Relationship Id="p1" Type="{RELATIONS}/image" Target="{secret.as_uri()}" TargetMode="External"/>'
    assert shapes(docx(body, relations=relation)) == [("paragraph", 0, "text")]


class TestErrors:
    def test_entities_do_nothing(self) -> None:
        laughs = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        body = "<w:body><w:p><w:r><w:t>x</w:t><w:t>&b;&f;</w:t><w:t>y</w:t></w:r></w:p></w:body>"
        content = docx("", {"word/document.xml": f'{laughs}<w:document xmlns:w="{W}">{body}</w:document>'})
        assert shapes(content) == [("paragraph", 0, "xy")]

    def test_document_without_a_body(self) -> None:
        with pytest.raises(ValueError, match=r"must be a Word document, got no body in word/document.xml"):
            parse(archive({"word/document.xml": "<a/>"}), DEFAULT_OPTIONS)

    def test_too_many_levels(self) -> None:
        body = "<w:ins>" * 220 + "</w:ins>" * 220
        with pytest.raises(ValueError, match="must nest its elements less deeply"):
            parse(docx(body), DEFAULT_OPTIONS)
