import tarfile
from itertools import islice
from pathlib import Path

from sumpool.data.sources import bundled_sample, clean_body
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.rfc import parse
from sumpool.text.sentences import list_mark

SAMPLE = Path(__file__).parent / "samples/rfc.txt"


def test_parts_of_an_rfc_have_their_kinds() -> None:
    parsed = parse(SAMPLE.read_bytes(), DEFAULT_OPTIONS)
    assert parsed.title == "On Gateways and Packets"
    assert [(block.kind, block.level, block.text[:14], block.line) for block in parsed.blocks] == [
        ("notice", 0, "Network Workin", 2),
        ("heading", 1, "On Gateways an", 7),
        ("notice", 0, "Status of this", 9),
        ("notice", 0, "This memo prov", 11),
        ("heading", 1, "Abstract", 14),
        ("paragraph", 0, "A gateway forw", 16),
        ("notice", 0, "Table of Conte", 19),
        ("notice", 0, "1. Introductio", 21),
        ("heading", 1, "1. Introductio", 24),
        ("paragraph", 0, "Gateways know ", 26),
        ("code", 0, "+------+      ", 29),
        ("caption", 0, "Figure 1: Boxe", 37),
        ("heading", 1, "2. Lists", 39),
        ("list_item", 1, "A point of a l", 41),
        ("notice", 0, "Author's Addre", 43),
        ("notice", 0, "Jane Doe", 45),
    ]


def test_a_heading_on_the_front_page_is_no_title() -> None:
    text = b"Request for Comments: 1\n\n          MINUTES OF A MEETING\n\n%s\n\nNotes are for those who attended it.\n"
    for line in (b"               Preface", b"             1. SUMMARY", b"          (213) 822-1511"):
        assert parse(text % line, DEFAULT_OPTIONS).title == "MINUTES OF A MEETING"


def test_a_list_item_is_no_heading() -> None:
    text = b"Abstract\n\n   Hosts send.\n\n1. Introduction\n\n   Hosts send:\n\n%s\n\nA. Notes\n\n   Hosts send more.\n"
    for line in (b"   o  send packets, and", b"   a. Sending", b"   A host that sends"):
        headings = [block.text for block in parse(text % line, DEFAULT_OPTIONS).blocks if block.kind == "heading"]
        assert headings == ["Abstract", "1. Introduction", "A. Notes"]


def test_paragraphs_are_those_of_prepared_data() -> None:
    with tarfile.open(bundled_sample()) as archive:
        members = (member for member in archive if member.name.endswith(".txt"))
        contents = [file.read() for member in islice(members, 40) if (file := archive.extractfile(member))]
    plain = [content for content in contents if content.isascii() and b"\0" not in content]
    assert len(plain) > 30
    for content in plain:
        prepared = [text[list_mark(text) :] for text in clean_body(content.decode("latin-1")).split("\n\n") if text]
        blocks = iter([block.text for block in parse(content, DEFAULT_OPTIONS).blocks])
        assert all(paragraph in blocks for paragraph in prepared)  # in order
