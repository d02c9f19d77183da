from time import process_time

import pytest

from sumpool.documents.office.archive import DocumentArchive
from sumpool.documents.office.docx import prepare
from tests.documents.formats.conftest import outline, read, texts
from tests.documents.formats.office_files import W, archive, docx, relationship, word_paragraph


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


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
    assert read("docx", content).title == "Water"
    expected = ["h1 Water", "h2 Rivers", "p They flow.", "caption Figure 1: A river", "code x = 1\n  y = 2"]
    assert outline("docx", content) == expected


CELL = f"<w:tc>{word_paragraph('a')}</w:tc>"
OUTLINE = f'<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>{run("Rivers")}</w:p>'
DELETED_END = "<w:pPr><w:rPr><w:del w:id='1' w:author='A' w:date='2026-11-27T00:00:00Z'/></w:rPr></w:pPr>"
CONTROL = f"<w:sdt><w:sdtPr>{{}}</w:sdtPr><w:sdtContent>{run('Click to enter text.')}</w:sdtContent></w:sdt>"
LINK = f'<w:hyperlink w:anchor="tide">{run("tide.")}</w:hyperlink>'


def test_elements_of_the_body() -> None:
    for body, expected in [
        (f"<w:tbl><w:tr>{CELL}{CELL}</w:tr></w:tbl>", ["row a | a"]),
        (word_paragraph("Text.") + OUTLINE + word_paragraph("Water", "Title"), ["p Text.", "h3 Rivers", "h1 Water"]),
        (
            f"<w:p>{DELETED_END}{run('The bridge is closed ')}</w:p>{word_paragraph('until May.')}",
            ["p The bridge is closed until May."],
        ),
        (
            f"<w:p>{run('Name: ')}{CONTROL.format('<w:showingPlcHdr/>')}</w:p><w:p>{CONTROL.format('')}</w:p>",
            ["p Name:", "p Click to enter text."],
        ),
        (f"<w:p>{run('Ask about the ')}<w:r><w:rPr/>{LINK}</w:r></w:p>", ["p Ask about the tide."]),
    ]:
        assert outline("docx", docx(body)) == expected


def test_deletions_and_comments_are_left_out_and_insertions_kept() -> None:
    body = (
        "<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:ins w:id='1' w:author='A' w:date='2026-11-27T00:00:00Z'>{run(' new')}</w:ins>"
        f"{run('hidden', '<w:vanish/>')}<w:r><w:commentReference w:id='0'/></w:r></w:p>"
    )
    comments = f'<w:comments xmlns:w="{W}"><w:comment w:id="0">{word_paragraph("Why?")}</w:comment></w:comments>'
    content = docx(body, {"word/comments.xml": comments}, relationship("r9", "comments", "comments.xml"))
    assert outline("docx", content) == ["p kept new"]


def test_footnotes_come_last() -> None:
    body = f"<w:p>{run('Text')}<w:r><w:footnoteReference w:id='1'/></w:r>{run('.')}</w:p>"
    note = f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="1">{word_paragraph("A note.")}</w:footnote></w:footnotes>'
    parts = {"word/footnotes.xml": note}
    content = docx(body + word_paragraph("More."), parts, relationship("r9", "footnotes", "footnotes.xml"))
    assert texts("docx", content) == ["Text.", "More.", "A note."]


def test_title_is_that_of_the_properties_or_the_first_heading() -> None:
    core = '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title></c>'
    for title, expected in (("Annual report", "Annual report"), ("Microsoft Word - x.doc", "Rain")):
        content = docx(word_paragraph("Rain", "heading1"), {"docProps/core.xml": core.format(title)})
        assert read("docx", content).title == expected
    below = docx(word_paragraph("The court heard the case in May.") + word_paragraph("Introduction", "heading1"))
    assert read("docx", below).title == ""


@pytest.mark.parametrize("kind", ["drop", "margin"])
@pytest.mark.parametrize(
    ("cap", "rest"), [("Th", "e harbour."), ("A", " captain."), ("A ", "captain."), ("\u201cA", " captain.\u201d")]
)
def test_drop_caps_belong_to_the_paragraph_behind_them(kind: str, cap: str, rest: str) -> None:
    frame = f'<w:p><w:pPr><w:framePr w:dropCap="{kind}" w:lines="3"/></w:pPr>{run(cap)}</w:p>'
    behind = f'<w:p><w:pPr><w:jc w:val="both"/></w:pPr>{run(rest)}</w:p>'
    assert outline("docx", docx(frame + behind)) == [f"p {cap}{rest}"]
    assert outline("docx", docx(frame + "<w:tbl/>" + frame)) == [f"p {cap.strip()}"] * 2


def test_text_boxes_follow_the_sentence_that_they_stand_in() -> None:
    box = f"<w:txbxContent>{word_paragraph('Weather at sea.')}{word_paragraph('In winter.')}</w:txbxContent>"
    spaces = (
        'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    picture = f"<w:pict {spaces}><v:shape><v:textbox>{box}</v:textbox></v:shape></w:pict>"
    choice = f"<mc:AlternateContent {spaces}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    for drawing in (picture, f"{choice}</mc:AlternateContent>"):
        body = f"<w:p>{run('The captain ')}<w:r>{drawing}</w:r>{run('wrote in the log.')}</w:p>"
        assert texts("docx", docx(body)) == ["The captain wrote in the log.", "Weather at sea.", "In winter."]


CHUNK = f"{word_paragraph('Before.')}<w:altChunk r:id='r9'/>{word_paragraph('Behind.')}"


def with_chunk(suffix: str, content: str | bytes | None) -> bytes:
    """A document that embeds another one; without a content, one that is missing."""
    parts = {f"word/chunk.{suffix}": content} if content is not None else {}
    return docx(CHUNK, parts, relationship("r9", "aFChunk", f"chunk.{suffix}"))


def test_embedded_documents_are_in_their_place() -> None:
    for suffix, content in (
        ("html", "<html><body><p>The office counted ships.</p></body></html>"),
        ("txt", "The office counted ships."),
        ("mht", "MIME-Version: 1.0\nFrom: a\nSubject: b\nContent-Type: text/html\n\n<p>The office counted ships.</p>"),
        ("docx", docx(word_paragraph("The office counted ships."))),
    ):
        assert texts("docx", with_chunk(suffix, content)) == ["Before.", "The office counted ships.", "Behind."]


def test_an_embedded_document_that_cannot_be_read_is_noted() -> None:
    missing = with_chunk("docx", None)
    other_part = "which must be a part of the document itself"
    for suffix, content, reason in (
        ("bin", b"\x89PNG", "which must be text or one of"),
        ("docx", None, other_part),
        ("docx", missing, other_part),
    ):
        parsed = read("docx", with_chunk(suffix, content))
        assert {block.text for block in parsed.blocks} == {"Before.", "Behind."}
        assert parsed.notes[0].startswith(f"an embedded document left out, {reason}")


def test_entities_do_nothing() -> None:
    laughs = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body = "<w:body><w:p><w:r><w:t>x</w:t><w:t>&b;&f;</w:t><w:t>y</w:t></w:r></w:p></w:body>"
    content = docx("", {"word/document.xml": f'{laughs}<w:document xmlns:w="{W}">{body}</w:document>'})
    assert outline("docx", content) == ["p xy"]


def test_other_documents_are_refused() -> None:
    for content, message in [
        (archive({"word/document.xml": "<a/>"}), "must be a Word document, got no body in word/document.xml"),
        (docx("<w:ins>" * 300 + "</w:ins>" * 300), "must hold XML in .*[Dd]epth"),
    ]:
        with pytest.raises(ValueError, match=message):
            read("docx", content)


def test_long_documents_are_prepared_in_linear_time() -> None:
    def seconds(paragraphs: int) -> float:
        content = DocumentArchive(docx(word_paragraph("A b.") * paragraphs), "DOCX")
        start = process_time()
        prepare(content, lambda _: [])
        return process_time() - start

    assert seconds(16_000) < 8 * seconds(4_000)
