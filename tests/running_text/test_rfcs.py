"""Running text of RFCs: bodies in a fixed order, up to a number of characters."""

import gzip
from pathlib import Path

import rfcs


def rfc(number: int) -> str:
    sentence = f"Document {number} describes how a host forwards datagrams to its neighbours on the local network."
    return f"RFC {number}\n\n1.  Introduction\n\n" + "\n\n".join([f"   {sentence}"] * 3) + "\n"


def test_bodies_are_cut_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "rfc1.txt").write_text(rfc(1))
    (tmp_path / "rfc2.txt.gz").write_bytes(gzip.compress(rfc(2).encode()))
    (tmp_path / "rfc1.json").write_text("{}")
    characters = rfcs.cut(tmp_path, tmp_path, 10_000)
    text = (tmp_path / "rfc.txt").read_text()
    assert "Document 1 describes" in text
    assert "Document 2 describes" in text
    assert len(text) == characters + 4
    assert rfcs.cut(tmp_path, tmp_path, 1) == len((tmp_path / "rfc.txt").read_text()) - 2
