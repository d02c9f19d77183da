import pytest

from tests.documents.formats.conftest import outline, read, texts
from tests.documents.formats.office_files import ODT_SPACES, archive, odt


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
    expected = ["h2 Rivers", "p They flow down.", "li1 one", "li2 deep", "row a | b", "p Mostly."]
    assert outline("odt", odt(body)) == expected


def test_styles_give_title_captions_and_code_and_deletions_comments_and_contents_are_left_out() -> None:
    styles = (
        '<style:style style:name="P1" style:parent-style-name="Caption"/>'
        '<style:style style:name="P2" style:parent-style-name="Title"/>'
        '<style:style style:name="P3" style:parent-style-name="Preformatted_20_Text"/>'
    )
    body = (
        "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
        '<text:p text:style-name="P2">Water</text:p>'
        "<text:table-of-content><text:p>Rivers 3</text:p></text:table-of-content>"
        "<text:p>Kept<office:annotation><text:p>Why?</text:p></office:annotation>.</text:p>"
        '<text:p text:style-name="P1">Figure 1</text:p>'
        '<text:p text:style-name="P3">x = 1</text:p><text:p text:style-name="P3">y = 2</text:p>'
    )
    content = odt(body, styles)
    assert read("odt", content).title == "Water"
    assert outline("odt", content) == ["h1 Water", "p Kept.", "caption Figure 1", "code x = 1\ny = 2"]


def test_title_of_the_properties() -> None:
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Annual report</dc:title></m>'
    assert read("odt", odt("<text:p>x</text:p>", parts={"meta.xml": meta})).title == "Annual report"


def test_hidden_text_sections_rows_and_paragraphs_are_left_out() -> None:
    styles = (
        '<style:style style:name="P1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="P2" style:parent-style-name="P1"/>'
    )
    row = "<table:table-row{}><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    hiding = '<text:hidden-paragraph text:condition="ooow:a==1" text:is-hidden="{}"/>'
    hidden = hiding.format("true")
    body = (
        '<text:section text:name="a" text:display="none"><text:p>secret</text:p></text:section>'
        '<text:section text:name="b" text:display="condition" text:is-hidden="true"><text:p>secret</text:p>'
        '</text:section><text:section text:name="c"><text:p>shown</text:p></text:section>'
        '<text:p text:style-name="P2">secret</text:p>'
        '<text:p>part<text:span text:style-name="P1">secret</text:span></text:p>'
        f"<text:p>secret <text:span>{hidden}</text:span> text</text:p>"
        f"<text:h text:outline-level='1'>{hidden}secret</text:h><text:p>not hidden{hiding.format('false')}</text:p>"
        f"<text:p>around<draw:frame><draw:text-box><text:p>{hidden}secret</text:p></draw:text-box></draw:frame></text:p>"
        "<table:table>"
        + row.format(' table:visibility="collapse"', "secret")
        + row.format(' table:visibility="filter"', "secret")
        + row.format("", "row")
        + "</table:table>"
    )
    assert texts("odt", odt(body, styles)) == ["shown", "part", "not hidden", "around", "row"]


def test_text_boxes_follow_the_sentence_that_they_stand_in() -> None:
    inner = "<text:p>Weather at sea.</text:p><text:p>In winter.</text:p>"
    box = f"<draw:frame><draw:text-box>{inner}</draw:text-box></draw:frame>"
    body = f"<text:p>The captain{box} wrote <text:span>in {box}the</text:span> log.</text:p><text:p>Behind.</text:p>"
    boxes = ["Weather at sea.", "In winter."]
    assert texts("odt", odt(body)) == ["The captain wrote in the log.", *boxes, *boxes, "Behind."]


def test_fields_keep_their_text_and_code_its_space() -> None:
    body = (
        '<text:p>Chapter <text:bookmark-ref text:ref-name="a">Rivers</text:bookmark-ref>, by '
        "<text:user-field-get>Doe</text:user-field-get>.</text:p>"
        '<text:p text:style-name="Preformatted_20_Text">if x:<text:line-break/><text:s text:c="2"/>y = 1</text:p>'
    )
    assert outline("odt", odt(body)) == ["p Chapter Rivers, by Doe.", "code if x:\n  y = 1"]


def test_external_and_nested_entities_do_nothing() -> None:
    declarations = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    content = (
        f"{declarations}<office:document-content {ODT_SPACES}><office:body><office:text><text:p>x&b;&f;y</text:p>"
        "</office:text></office:body></office:document-content>"
    )
    assert outline("odt", archive({"content.xml": content})) == ["p xy"]


def test_other_documents_are_refused() -> None:
    for content, message in [
        (
            odt("", parts={"META-INF/manifest.xml": "<manifest:encryption-data/>"}),
            "must not be encrypted, got an ODT file with a password",
        ),
        (archive({"content.xml": "<office/>"}), "must be an OpenDocument text, got a document of another kind"),
        (odt("<text:span>" * 300 + "x" + "</text:span>" * 300), "must hold XML in .*[Dd]epth"),
    ]:
        with pytest.raises(ValueError, match=message):
            read("odt", content)
