"""Running text of packages: pages of a language, paragraphs once, and shares."""

import gzip
import json
from pathlib import Path

import manuals_of_language
import pytest

FINNISH = "Tämä ohje kertoo, miten taulukon solut muotoillaan ja miten luvut näytetään asiakirjassa."
ENGLISH = "This page describes how the cells of a table are formatted and how numbers are shown in documents."


def page(*texts: str) -> bytes:
    return "".join(["<html><body>", *(f"<p>{text}</p>" for text in texts), "</body></html>"]).encode()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Folder of packages in which one with a page in English and three in Finnish is unpacked."""
    root = tmp_path / "packages" / "debian-handbook"
    for name, content in {
        "help/fi/a.html": page(FINNISH, ENGLISH, "Lyhyt"),
        "html/fi-FI/b.html": page(FINNISH, f"Toinen kappale. {FINNISH}"),
        "html/fia/c.html": page(ENGLISH),
        "html/en-US/c.html": page(ENGLISH),
        "man/fi/man1/d.1.gz": gzip.compress(f".TH D 1\n.SH NIMI\nd\n.SH KUVAUS\nKolmas kappale. {FINNISH}\n".encode()),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (tmp_path / "packages" / "debian-handbook_1%3a2_all.deb").write_bytes(b"")
    return tmp_path


def test_pages_of_a_language_are_cut(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: None)
    (share,) = manuals_of_language.cut("fi", package)
    text = (package / "fi.txt").read_text()
    assert text.count(FINNISH) == 3
    assert ENGLISH not in text
    assert "Lyhyt" not in text
    assert text.count("\n\n") == share.pages == 3
    assert share.version == "1:2"
    assert json.loads((package / "fi.json").read_text())[0]["pages"] == 3


def test_links_and_other_files_are_left_out(package: Path) -> None:
    root = package / "packages" / "debian-handbook"
    (root / "help/fi/link.html").symlink_to(root / "help/fi/a.html")
    (root / "help/fi/image.png").write_bytes(b"")
    (root / "help/fi/changelog.gz").write_bytes(b"")
    names = {path.name for path in manuals_of_language.pages(root, "fi")}
    assert names == {"a.html", "b.html", "d.1.gz"}
