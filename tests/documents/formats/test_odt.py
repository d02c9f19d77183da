import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats import load_format
from tests.documents.formats.office_files import ODT_SPACES, archive, odt

parse = load_format("odt").parse


def shapes(content: bytes) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(content, DEFAULT_OPTIONS).blocks]


def test_headings_lists_tables_and_footnotes() -> None:
    body = (
        '<text:h text:outline-level="2">Rivers</text:h>'
        "<text:p>They<text:s/>flow<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>Mostly.</text:p></text:note-body></text:note> down.</text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p>"
        "</text:list-item></text:list></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    )
    assert shapes(odt(body)) == [
        ("heading", 2, "Rivers"),
        ("paragraph", 0, "They flow down."),
        ("list_item", 1, "one"),
        ("list_item", 2, "deep"),
        ("table_row", 0, "a | b"),
        ("paragraph", 0, "Mostly."),
    ]


def test_deletions_comments_contents_and_hidden_text_are_left_out() -> None:
    styles = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="P1" style:parent-style-name="Caption"/>'
        '<style:style style:name="P2" style:parent-style-name="Title"/>'
        '<style:style style:name="P3" style:parent-style-name="Preformatted_20_Text"/>'
    )
    body = (
        "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
        '<text:p text:style-name="P2">Water</text:p>'
        "<text:table-of-content><text:p>Rivers 3</text:p></text:table-of-content>"
        '<text:p>Kept<office:annotation><text:p>Why?</text:p></office:annotation><text:span text:style-name="T1">'
        'secret</text:span>.</text:p><text:p text:style-name="P1">Figure 1</text:p>'
        '<text:p text:style-name="P3">x = 1</text:p><text:p text:style-name="P3">y = 2</text:p>'
    )
    content = odt(body, styles)
    assert parse(content, DEFAULT_OPTIONS).title == "Water"
    assert shapes(content) == [
        ("heading", 1, "Water"),
        ("paragraph", 0, "Kept."),
        ("caption", 0, "Figure 1"),
        ("code", 0, "x = 1\ny = 2"),
    ]


def test_title_of_the_properties() -> None:
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Annual report</dc:title></m>'
    assert parse(odt("<text:p>x</text:p>", parts={"meta.xml": meta}), DEFAULT_OPTIONS).title == "Annual report"


def test_hidden_sections_rows_and_paragraphs_are_left_out() -> None:
    styles = (
        '<style:style style:name="P1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="P2" style:parent-style-name="P1"/>'
    )
    row = "<table:table-row{}><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    body = (
        '<text:section text:name="a" text:display="none"><text:p>secret</text:p></text:section>'
        '<text:section text:name="b" text:display="condition" text:is-hidden="true"><text:p>secret</text:p>'
        '</text:section><text:section text:name="c"><text:p>shown</text:p></text:section>'
        '<text:p text:style-name="P2">secret</text:p><table:table>'
        + row.format(' table:visibility="collapse"', "secret")
        + row.format(' table:visibility="filter"', "secret")
        + row.format("", "row")
        + "</table:table>"
    )
    assert [text for _, _, text in shapes(odt(body, styles))] == ["shown", "row"]


def test_paragraphs_that_a_field_hides_are_left_out() -> None:
    hiding = '<text:hidden-paragraph text:condition="ooow:a==1" text:is-hidden="{}"/>'
    box = f"<draw:frame><draw:text-box><text:p>{hiding.format('true')}secret</text:p></draw:text-box></draw:frame>"
    body = (
        f"<text:p>secret <text:span>{hiding.format('true')}</text:span> text</text:p>"
        f"<text:h text:outline-level='1'>{hiding.format('true')}secret</text:h>"
        f"<text:p>shown{hiding.format('false')}</text:p><text:p>around{box}</text:p>"
    )
    assert [text for _, _, text in shapes(odt(body))] == ["shown", "around"]


def test_text_boxes_follow_the_sentence_that_they_stand_in() -> None:
    inner = "<text:p>Weather at sea.</text:p><text:p>In winter.</text:p>"
    box = f"<draw:frame><draw:text-box>{inner}</draw:text-box></draw:frame>"
    body = f"<text:p>The captain{box} wrote <text:span>in {box}the</text:span> log.</text:p><text:p>Behind.</text:p>"
    boxes = ["Weather at sea.", "In winter."]
    assert [text for _, _, text in shapes(odt(body))] == ["The captain wrote in the log.", *boxes, *boxes, "Behind."]


def test_fields_keep_their_text_and_code_its_space() -> None:
    body = (
        '<text:p>Chapter <text:bookmark-ref text:ref-name="a">Rivers</text:bookmark-ref>, by '
        "<text:user-field-get>Doe</text:user-field-get>.</text:p>"
        '<text:p text:style-name="Preformatted_20_Text">if x:<text:line-break/><text:s text:c="2"/>y = 1</text:p>'
    )
    assert shapes(odt(body)) == [("paragraph", 0, "Chapter Rivers, by Doe."), ("code", 0, "if x:\n  y = 1")]


class TestErrors:
    def test_external_and_nested_entities_do_nothing(self) -> None:
        declarations = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        content = (
            f"{declarations}<office:document-content {ODT_SPACES}><office:body><office:text><text:p>x&b;&f;y</text:p>"
            "</office:text></office:body></office:document-content>"
        )
        assert shapes(archive({"content.xml": content})) == [("paragraph", 0, "xy")]

    def test_encrypted_document(self) -> None:
        manifest = {"META-INF/manifest.xml": "<manifest:encryption-data/>"}
        with pytest.raises(ValueError, match="must not be encrypted, got an ODT file with a password"):
            parse(odt("", parts=manifest), DEFAULT_OPTIONS)

    def test_other_kind_of_document(self) -> None:
        with pytest.raises(ValueError, match="must be an OpenDocument text, got a document of another kind"):
            parse(archive({"content.xml": "<office/>"}), DEFAULT_OPTIONS)

    def test_too_many_levels(self) -> None:
        with pytest.raises(ValueError, match=r"must hold XML in .*[Dd]epth"):
            parse(odt("<text:span>" * 300 + "x" + "</text:span>" * 300), DEFAULT_OPTIONS)
