from io import BytesIO
from zipfile import ZipFile

import pytest

from tests.documents.formats.conftest import outline, read, texts
from tests.documents.formats.office_files import epub

XHTML = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head>'


def test_chapters_in_the_order_of_the_spine_without_contents() -> None:
    links = "".join(f'<p><a href="c{number}.xhtml">Chapter number {number}</a></p>' for number in range(20))
    content = epub(
        {
            "nav.xhtml": f"{XHTML}<body><nav><a href='c1.xhtml'>One</a></nav></body></html>",
            "toc.xhtml": f"{XHTML}<body>{links}</body></html>",
            "cover.xhtml": f"{XHTML}<body><p>Cover</p></body></html>",
            "../away.xhtml": "not there",
            "c2.xhtml": f"{XHTML}<body><h1>One</h1><p>It began on the <a href='c1.xhtml'>4</a>th."
            "<a epub:type='noteref' href='#n'>1</a><span epub:type='pagebreak'>7</span></p></body></html>",
            "c1.xhtml": f"{XHTML}<body><section epub:type='toc'><p>One 3</p></section><p>It ended.</p></body></html>",
        },
        title="The Rain",
        properties={"nav.xhtml": 'properties="nav"'},
        guide='<reference type="cover" href="cover.xhtml"/>',
    )
    document = read("epub", content)
    assert (document.title, document.notes) == ("The Rain", ("1 chapter missing in the book",))
    assert outline("epub", content) == ["h1 One", "p It began on the 4th.", "p It ended."]


def test_legal_pages_are_notices_and_an_index_is_left_out() -> None:
    content = epub(
        {
            "a.xhtml": f"{XHTML}<body epub:type='copyright-page'><p>All rights reserved.</p></body></html>",
            "b.xhtml": f"{XHTML}<body><h1>Colophon</h1><p>Set in Garamond.</p></body></html>",
            "c.xhtml": f"{XHTML}<body><section role='Doc-TOC'><p>One 3</p></section><p>It rained.</p></body></html>",
            "d.xhtml": f"{XHTML}<body><h1>Index</h1><h2>A</h2><ul><li>apples</li></ul></body></html>",
            "e.xhtml": f"{XHTML}<body><h1>Contents</h1><p>What it holds.</p></body></html>",
        }
    )
    assert outline("epub", content) == [
        "notice All rights reserved.",
        "notice Colophon",
        "notice Set in Garamond.",
        "p It rained.",
        "h1 Contents",
        "p What it holds.",
    ]


DRM = '<e><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e>'
FONTS = '<e><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></e>'


def test_other_books_are_refused() -> None:
    for content, message in [
        (
            epub({"a.xhtml": "<p>x"}, parts={"META-INF/encryption.xml": DRM}),
            "must not be encrypted, got a book with digital rights management",
        ),
        (epub({}), "must be an EPUB book, got a package without chapters in OEBPS/book.opf"),
        (epub({"../a.xhtml": "", "../b.xhtml": ""}), "must hold its chapters, got a book without all 2 of them; get"),
    ]:
        with pytest.raises(ValueError, match=message):
            read("epub", content)


def test_encrypted_fonts_and_missing_chapters_are_no_reason_to_refuse_a_book() -> None:
    content = epub({"../../../etc/passwd": "<p>no</p>", "a.xhtml": "<p>x"}, parts={"META-INF/encryption.xml": FONTS})
    assert outline("epub", content) == ["p x"]


def test_parts_are_found_under_other_spellings_of_their_names() -> None:
    for name, reference in [
        ("ch%201.xhtml", "ch%201.xhtml"),
        ("ch 1.xhtml", "ch%201.xhtml"),
        ("Chapter1.XHTML", "chapter1.xhtml"),
        ("kapitel\u00e4.xhtml", "kapitela\u0308.xhtml"),
        ("kapitel%C3%A4.xhtml", "kapitel\u00e4.xhtml"),
        ("\u00e4.xhtml".encode().decode("cp437"), "\u00e4.xhtml"),
        ("one.xhtml", "/OEBPS/one.xhtml"),
        ("one.xhtml", "one.xhtml#start"),
    ]:
        content = epub({"marker.xhtml": "<p>It began.</p>", "other.xhtml": "<p>It ended.</p>"})
        renamed = BytesIO()
        with ZipFile(BytesIO(content)) as old, ZipFile(renamed, "w") as new:
            for part in old.namelist():
                text = old.read(part).decode().replace("marker.xhtml", reference)
                new.writestr(part.replace("marker.xhtml", name), text)
        assert texts("epub", renamed.getvalue()) == ["It began.", "It ended."]


def test_exact_name_goes_before_other_spellings() -> None:
    assert texts("epub", epub({"A.xhtml": "<p>Large.</p>", "a.xhtml": "<p>Small.</p>"})) == ["Large.", "Small."]
