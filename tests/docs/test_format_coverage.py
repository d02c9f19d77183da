import io
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from sumpool.documents.document import Document, TextBlock
from tests.scripts import load_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("docs/scripts/format_coverage.py")


def test_checked_texts_are_complete(script: ModuleType) -> None:
    texts = [script.read_gold(path) for path in sorted((ROOT / "docs/scripts/format_coverage").glob("*.txt"))]
    assert len(texts) >= 30
    assert len({gold.producer for gold in texts}) >= 10
    assert all(len(script.words(gold.text)) > 20 for gold in texts)
    for gold in texts:
        list(script.part_of(Document("a", ""), gold.part))


def test_words_in_order_and_running_heads_are_counted(script: ModuleType) -> None:
    gold = script.Gold("p", "1", "a.txt", "lines 2-3", "hand", (r"Head \d",), "one two three")
    blocks = (TextBlock("zero", line=1), TextBlock("Head 1", line=2), TextBlock("two three four", line=3))
    coverage = script.compare(Document("a", "", blocks=blocks), gold)
    assert coverage == script.Coverage(words=3, in_order=2, extra=3, running_heads=1)
    assert script.compare(Document("a", "", "broken"), gold).error == "broken"
    assert script.words("It's \u4e2d\u6587, well-known.") == ["It's", "\u4e2d", "\u6587", "well-known"]


def test_files_come_from_folders_and_archives(script: ModuleType, tmp_path: Path) -> None:
    gold = script.Gold("p", "1", "doc/a.txt", "all", "hand", (), "text")
    with pytest.raises(FileNotFoundError, match="must hold p 1, got none"):
        script.package_file(tmp_path, gold)
    with tarfile.open(tmp_path / "p-1.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("p-1/doc/a.txt")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    assert script.package_file(tmp_path, gold) == b"text"
    with pytest.raises(FileNotFoundError, match=r"must hold b\.txt, got no such file"):
        script.package_file(tmp_path, script.Gold("p", "1", "b.txt", "all", "hand", (), ""))
    (tmp_path / "p" / "doc").mkdir(parents=True)
    (tmp_path / "p" / "doc" / "a.txt").write_text("folder")
    assert script.package_file(tmp_path, gold) == b"folder"


def test_wrong_parts_and_heads_are_named(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part must be all, pages or lines, got 'half'"):
        list(script.part_of(Document("a", ""), "half"))
    path = tmp_path / "gold.txt"
    path.write_text("a | b\n\ntext")
    with pytest.raises(ValueError, match=r"must begin with package \| version .*, got 'a \| b'"):
        script.read_gold(path)
