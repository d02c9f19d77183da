import json
from pathlib import Path

import pytest

from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.io.json_lines import Identity, ResumableFile, read_records


def records(path: Path) -> list[object]:
    return list(read_records(path, json.loads, "JSON", "name another file"))


def test_a_torn_last_line_is_passed_over_and_dropped(tmp_path: Path) -> None:
    for torn in ["", "1", '{"a": ' + "x" * 200_000]:
        path = tmp_path / "records.jsonl"
        path.write_text(f"1\n2\n{torn}")
        assert records(path) == [1, 2]
        with ResumableFile(path, resume=True) as file:
            file.append("3")
            assert path.read_text() == "1\n2\n3\n"  # before the file is closed


def test_without_resume_the_file_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("1\n")
    with ResumableFile(path, resume=False) as file:
        file.append('"\udc80"')
    assert path.read_bytes() == b'"\\udc80"\n'
    assert records(path) == ["\udc80"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("1\n{2\n3\n")
    with pytest.raises(DataError, match=r"records\.jsonl:2 must be JSON, got b'\{2\\n'; name another file"):
        records(path)


def test_records_of_another_identity_are_not_resumed(tmp_path: Path) -> None:
    path, described = tmp_path / "records.jsonl", tmp_path / "identity.json"
    with ResumableFile(path, resume=True, identity=Identity(described, {"model": "a"}, "start anew")) as file:
        file.append("1")
    with ResumableFile(path, resume=True, identity=Identity(described, {"model": "a"}, "start anew")) as file:
        file.append("2")
    other = Identity(described, {"model": "b"}, "start anew")
    with pytest.raises(DataError, match="must hold the same model to go on, got 'a' there and 'b' now; start anew"):
        ResumableFile(path, resume=True, identity=other)
    described.write_text("[]")
    with pytest.raises(DataError, match=r"identity\.json must say what the results are of, got nothing readable"):
        ResumableFile(path, resume=True, identity=other)
    assert records(path) == [1, 2]
    with ResumableFile(path, resume=False, identity=other):
        pass
    assert json.loads(described.read_text()) == {"model": "b"}
    assert records(path) == []


def test_a_failing_disk_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no/records must be a path that can be written, got"):
        ResumableFile(tmp_path / "no" / "records", resume=True)
    message = "full must be written completely, got: .* and go on with --resume"
    with (
        pytest.raises(ResourceError, match=message),
        ResumableFile(Path("/dev/full"), resume=True, advice="go on with --resume") as file,
    ):
        file.append("1")
