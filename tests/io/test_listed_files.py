from pathlib import Path

from sumpool.io.atomic import temporary_path
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.io.replaceable import replace_listed_file


def test_a_file_and_its_entry_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    other = FileDigest.of(tmp_path / "other")
    Manifest({"other": other}, {"a": 1}, kind="sweep").write(tmp_path)
    for text in ("one", "two"):
        temporary_path(tmp_path / "file").write_text(text)
        replace_listed_file(tmp_path / "file", {"b": text}, "sweep")
        manifest = Manifest.read(tmp_path, "sweep")
        assert (tmp_path / "file").read_text() == text
        assert manifest.files == {"other": other, "file": FileDigest.of_bytes(text.encode())}
        assert (manifest.facts, manifest.incoming) == ({"a": 1, "b": text}, {})
