from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from sumpool.io.file_names import FileNames


def test_names_are_relative_to_the_arguments() -> None:
    names = FileNames(["docs/", "a/b.pdf", "-"], ".txt")
    ids = ("docs/x.md", "docs/sub/y.md", "a/b.pdf", "-")
    assert [str(names.assign(id)) for id in ids[:3]] == ["x.md.txt", "sub/y.md.txt", "b.pdf.txt"]
    assert names.assign(ids[3]).name.startswith("_-")


def test_long_names_keep_as_many_bytes_as_file_systems_take() -> None:
    assert FileNames([], ".txt").assign("a" * 300).name[:-13] == "a" * 150


HOSTILE = ["../../x", "/etc/passwd", "con", "CON.txt", "nul.md", "a" * 300, "\u00e9" * 300, "x\0y", "", ".", ".."]
HOSTILE += ["a\\b", "C:x", ".hidden", "a\nb", "trailing. ", "-rf", "\udc80", "a/../../b", "x?*<>|"]


def test_hostile_names_stay_inside(tmp_path: Path) -> None:
    for id in HOSTILE:
        path = FileNames([], ".txt").assign(id)
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("x")
        assert target.resolve().is_relative_to(tmp_path.resolve())
        assert path.stem.lower() not in ("con", "nul")
        assert all(len(part.encode()) <= 180 for part in path.parts)


@given(st.lists(st.text(alphabet="aA/.\\ \u00e9x\n-", max_size=12) | st.text(max_size=40), max_size=12))
def test_every_id_has_its_name(ids: list[str]) -> None:
    names, again = FileNames(["a"], ".md"), FileNames(["a"], ".md")
    paths = [names.assign(id) for id in ids]
    assert paths == [again.assign(id) for id in ids]
    assert len({str(path).casefold() for path in paths}) == len(ids)
    for path in paths:
        assert not path.is_absolute()
        assert not {"..", "."} & set(PurePosixPath(path).parts)
        assert path.suffix == ".md"
