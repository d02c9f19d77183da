from pathlib import Path
from time import process_time

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats import load_format
from sumpool.documents.office.archive import DocumentArchive
from sumpool.documents.office.docx import prepare
from tests.documents.formats.office_files import RELATIONS, W, archive, docx, word_paragraph

parse = load_format("docx").parse


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
        "<w:ins w:id='1' w:author='A' w:date='2026-11-27T00:00:00Z'><w:r><w:t xml:space='preserve'> new</w:t></w:r>"
        "</w:ins>"
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


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_drop_caps_belong_to_the_paragraph_behind_them() -> None:
    for kind in ("drop", "margin"):
        frame = f'<w:p><w:pPr><w:framePr w:dropCap="{kind}" w:lines="3"/></w:pPr>{run("Th")}</w:p>'
        assert shapes(docx(frame + word_paragraph("e harbour office counted ships."))) == [
            ("paragraph", 0, "The harbour office counted ships.")
        ]


@pytest.mark.parametrize(
    ("cap", "rest"), [("A", " captain counted."), ("A ", "captain counted."), ("\u201cA", " captain.\u201d")]
)
def test_the_space_behind_a_drop_cap_is_kept(cap: str, rest: str) -> None:
    frame = f'<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr>{run(cap)}</w:p>'
    behind = f'<w:p><w:pPr><w:jc w:val="both"/></w:pPr>{run(rest)}</w:p>'
    assert shapes(docx(frame + behind)) == [("paragraph", 0, cap + rest)]
    assert shapes(docx(frame + "<w:tbl/>" + frame)) == [("paragraph", 0, cap.strip())] * 2


def test_a_deleted_end_joins_the_paragraph_behind_it() -> None:
    mark = "<w:pPr><w:rPr><w:del w:id='1' w:author='A' w:date='2026-11-27T00:00:00Z'/></w:rPr></w:pPr>"
    body = f"<w:p>{mark}{run('The bridge is closed ')}</w:p>" + word_paragraph("until May.")
    assert shapes(docx(body)) == [("paragraph", 0, "The bridge is closed until May.")]


def test_placeholders_of_empty_controls_are_left_out() -> None:
    control = (
        "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent><w:r><w:t>Click to enter text.</w:t></w:r></w:sdtContent></w:sdt>"
    )
    body = f"<w:p>{run('Name: ')}{control.format('<w:showingPlcHdr/>')}</w:p><w:p>{control.format('')}</w:p>"
    assert [text for _, _, text in shapes(docx(body))] == ["Name:", "Click to enter text."]


def test_text_boxes_follow_the_sentence_that_they_stand_in() -> None:
    box = f"<w:txbxContent>{word_paragraph('Weather at sea.')}{word_paragraph('In winter.')}</w:txbxContent>"
    spaces = (
        'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    picture = f"<w:pict {spaces}><v:shape><v:textbox>{box}</v:textbox></v:shape></w:pict>"
    choice = f"<mc:AlternateContent {spaces}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    for drawing in (picture, f"{choice}</mc:AlternateContent>"):
        body = f"<w:p>{run('The captain ')}<w:r>{drawing}</w:r>{run('wrote in the log.')}</w:p>"
        assert [text for _, _, text in shapes(docx(body))] == [
            "The captain wrote in the log.",
            "Weather at sea.",
            "In winter.",
        ]


def test_embedded_documents_are_in_their_place() -> None:
    parts: dict[str, str | bytes] = {
        "html": "<html><body><h1>Strike</h1><p>The office counted ships.</p></body></html>",
        "txt": "The office counted ships.",
        "mht": "MIME-Version: 1.0\nFrom: a\nSubject: b\nContent-Type: text/html\n\n<p>The office counted ships.</p>",
        "docx": docx(word_paragraph("The office counted ships.")),
    }
    for suffix, content in parts.items():
        relation = f'<Relationship Id="r9" Type="{RELATIONS}/aFChunk" Target="chunk.{suffix}"/>'
        body = f"{word_paragraph('Before.')}<w:altChunk r:id='r9'/>{word_paragraph('Behind.')}"
        texts = [text for _, _, text in shapes(docx(body, {f"word/chunk.{suffix}": content}, relation))]
        assert texts == ["Before.", *(["Strike"] if suffix == "html" else []), "The office counted ships.", "Behind."]


def test_an_embedded_document_that_cannot_be_read_is_noted() -> None:
    body = f"<w:altChunk r:id='r9'/>{word_paragraph('Behind.')}"
    relation = f'<Relationship Id="r9" Type="{RELATIONS}/aFChunk" Target="chunk.bin"/>'
    parsed = parse(docx(body, {"word/chunk.bin": b"\x89PNG"}, relation), DEFAULT_OPTIONS)
    assert [block.text for block in parsed.blocks] == ["Behind."]
    assert "an embedded document left out, which must be text or one of" in parsed.notes[0]


def test_an_embedded_document_that_is_missing_or_inside_another_is_noted() -> None:
    relation = f'<Relationship Id="r9" Type="{RELATIONS}/aFChunk" Target="chunk.docx"/>'
    body = f"<w:altChunk r:id='r9'/>{word_paragraph('Behind.')}"
    without = docx(body, relations=relation)
    for content in (without, docx(body, {"word/chunk.docx": without}, relation)):
        parsed = parse(content, DEFAULT_OPTIONS)
        assert {block.text for block in parsed.blocks} == {"Behind."}
        assert parsed.notes[0].startswith("an embedded document left out, which must be a part of the document itself")


def test_headings_by_outline_level_and_titles_behind_text() -> None:
    outline = '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Rivers</w:t></w:r></w:p>'
    assert shapes(docx(word_paragraph("Text.") + outline + word_paragraph("Water", "Title"))) == [
        ("paragraph", 0, "Text."),
        ("heading", 3, "Rivers"),
        ("heading", 1, "Water"),
    ]


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
        body = "<w:ins>" * 300 + "</w:ins>" * 300
        with pytest.raises(ValueError, match=r"must hold XML in .*[Dd]epth"):
            parse(docx(body), DEFAULT_OPTIONS)


def test_links_inside_runs_keep_their_text() -> None:
    link = '<w:hyperlink w:anchor="tide"><w:r><w:t>tide.</w:t></w:r></w:hyperlink>'
    paragraph = word_paragraph("Ask about the ").replace("</w:r>", f"</w:r><w:r><w:rPr/>{link}</w:r>", 1)
    assert shapes(docx(paragraph)) == [("paragraph", 0, "Ask about the tide.")]


def test_long_documents_are_prepared_in_linear_time() -> None:
    def seconds(paragraphs: int) -> float:
        content = DocumentArchive(docx(word_paragraph("A b.") * paragraphs), "DOCX")
        start = process_time()
        prepare(content, lambda _: [])
        return process_time() - start

    assert seconds(16_000) < 8 * seconds(4_000)
