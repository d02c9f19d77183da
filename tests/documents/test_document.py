from sumpool.documents.document import Document, ParsedDocument, TextBlock


def test_text_is_that_of_the_blocks() -> None:
    parsed = ParsedDocument((TextBlock("One."), TextBlock(" "), TextBlock("Two.", page=2)), "Title", ("note",))
    document = Document.from_parsed("a", parsed)
    assert document.text == "One.\n\nTwo."
    assert [block.text for block in document.blocks] == ["One.", "Two."]
    assert document.notes == ("note",)


def test_invisible_characters_of_blocks_are_counted() -> None:
    parsed, count = ParsedDocument((TextBlock("a\u200bb"), TextBlock("c", page=1)), "t\u202e").visible()
    assert count == 2
    assert parsed == ParsedDocument((TextBlock("ab"), TextBlock("c", page=1)), "t")
