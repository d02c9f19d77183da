import pytest

from sumpool.tasks.summarization.evaluate import FileFormat, read_as_file

TEXT = """\
1. Introduction

Hosts send packets (of any size) to gateways, which forward them. A packet that is too long is dropped, and the
sender is told so in a message of its own.

- routers keep a table of addresses
- hosts keep a cache of routes & names

2. Security

An attacker who can send such messages makes a host slow, unless every message carries a secret number.
"""


@pytest.mark.parametrize("kind", ["text", "html", "pdf"])
def test_structure_and_words_survive_the_file(kind: FileFormat) -> None:
    document = read_as_file("a", TEXT * 12, kind)
    assert not document.error
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert headings[:2] == ["1. Introduction", "2. Security"]
    items = [block.text for block in document.blocks if block.kind == "list_item"]
    assert items[:2] == ["routers keep a table of addresses", "hosts keep a cache of routes & names"]
    prose = [block.text for block in document.blocks if block.kind == "paragraph"]
    assert prose[0].startswith("Hosts send packets (of any size) to gateways")
    assert prose[0].endswith("a message of its own.")
    words = document.text.split()
    assert words.count("attacker") == 12
    assert words.count("secret") == 12


def test_characters_that_a_pdf_font_lacks_are_replaced() -> None:
    assert (
        "caf\u00e9 ??"
        in read_as_file("a", "A caf\u00e9 \u8def\u7531 stands beside the station of the town.", "pdf").text
    )
