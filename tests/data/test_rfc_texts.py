import hashlib
import tarfile
from itertools import islice

from sumpool.data.sources import bundled_sample, clean_abstract, clean_body
from sumpool.documents.formats.rfc import classify_blocks


def test_other_texts_have_no_body() -> None:
    for text in ["", "\n\n", "\f\f", "one line", "Abstract\n\n   Nothing else."]:
        assert clean_body(text) == ""


def test_adversarial_lines_are_cleaned() -> None:
    """Patterns that go back and forth would take minutes for them."""
    for part in (". ", " ", "1.", "[Page 1]", "\f"):
        line = part * 25_000 + "x"
        assert len(clean_body(f"Abstract\n\n{line}\n\n{line}\n\nContents\n\n{line}")) < 4 * len(line)


def test_boilerplate_of_the_index_is_removed() -> None:
    for boilerplate in [
        "[STANDARDS-TRACK]",
        "[STANDARDS- TRACK]",
        "[PROPOSED STANDARD]",
        "This memo provides information for the Internet community.",
        "This memo provides information for the Internet community. It does not specify an Internet standard.",
        "This memo defines an Experimental Protocol for the Internet community.",
        "This document defines a Historic Document for the Internet community.",
        "This document specifies an Internet Best Current Practices for the Internet Community, and requests "
        "discussion and suggestions for improvements.",
        "This memo documents an Internet Best Current Practice.",
        "This document is not an Internet Standards Track specification; it is published for informational purposes.",
        "Discussion and suggestions for improvement are requested. Distribution of this memo is unlimited.",
    ]:
        assert clean_abstract(f"It is about birds.\r\n{boilerplate}  ") == "It is about birds."
        assert clean_abstract(boilerplate) == ""


def test_other_sentences_are_one_paragraph_with_rejoined_words() -> None:
    text = "One machine-\r\nreadable line.\r\n\r\nThis memo provides guidance. It does not specify a wire format."
    words = "One machine-readable line. This memo provides guidance. It does not specify a wire format."
    assert clean_abstract(text) == words


DIGEST = "3c6ac7337a4417d9412232c1304b01a7291e564433f21f783e9783e416c98972"  # of 150 bodies, cleaning revision 2


def test_bodies_of_the_sample_are_unchanged() -> None:
    """Prepared data is found by its content: another digest needs another revision of the cleaning."""
    with tarfile.open(bundled_sample()) as archive:
        texts = (member for member in archive if member.name.endswith(".txt"))
        files = [archive.extractfile(member) for member in islice(texts, 150)]
        contents = [file.read().decode("latin-1") for file in files if file]
    bodies = [clean_body(content) for content in contents]
    assert len(bodies) > 50
    assert hashlib.sha256("\f".join(bodies).encode()).hexdigest() == DIGEST
    lines = contents[0].split("\n")
    assert all(lines[block.number - 1].rstrip() == block.lines[0].rstrip() for block in classify_blocks(contents[0]))
