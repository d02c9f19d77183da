import json
import os
import socket
import sys
import tracemalloc
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError, DataError
from sumpool.io.bounded import check_tensor_header, open_regular, parse_json, read_json, read_regular

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def test_json_within_the_limits_is_parsed() -> None:
    cases: list[tuple[bytes | str, object]] = [
        (b'{"a": [1, 2.5, null, "\\u00e9"]}', {"a": [1, 2.5, None, "\u00e9"]}),
        (b"\xef\xbb\xbf[]", []),
        ('"' + "[" * 1000 + '"', "[" * 1000),
        ('["\\"' + "[" * 1000 + '"]', ['"' + "[" * 1000]),
        ("[" * 64 + "]" * 64, None),
        ("[" + ",".join(["[]"] * 1000) + "]", None),
    ]
    for content, value in cases:
        assert parse_json(content) == (json.loads(content) if value is None else value)


def test_other_json_is_refused_before_it_is_parsed() -> None:
    cases: list[tuple[bytes | str, str]] = [
        ("[" * 100_000, "more than 64 levels of brackets"),
        ('{"a":' * 100_000, "more than 64 levels of brackets"),
        ("[" * 65 + "]" * 65, "more than 64 levels of brackets"),
        ("]" * 100_000, "Expecting value at column 1"),
        ("[1,\n2", "Expecting ',' delimiter at line 2 column 2"),
        (b'"\xff"', "byte 0xff at position 1, not UTF-8"),
        ("9" * 5000, "Exceeds the limit"),
        ('"' + '\\"' * 100_000, "Unterminated string"),
    ]
    for content, problem in cases:
        with pytest.raises(ValueError, match=problem):
            parse_json(content)


def test_json_of_too_many_bytes_or_values_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 9 bytes"):
        parse_json("[0,0,0,0,0]", max_bytes=9)
    assert parse_json("[0,0,0,0]", max_bytes=9) == [0] * 4
    for text in ('[0, 0, 0, ",,,,"]', '[0, 0, ",,,", "%s"]' % (r"\"" * 20), r'["\\", "\\", "\\", "\\"]'):
        assert len(parse_json(text, max_values=4)) == 4
    for text in ("[0, 0, 0, 0, 0]", '["", "", "", "", ""]', "[%s 0]" % (r'"\\",' * 20), '["", %s 0]' % ('"",' * 20)):
        with pytest.raises(ValueError, match="more than 4 values"):
            parse_json(text, max_values=4)


def test_a_file_holds_an_object(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    assert read_json(path, DataError, "get it again") == {"a": 1}
    path.write_text("[1]")
    with pytest.raises(DataError, match=r"settings\.json must hold a JSON object, got list; get it again"):
        read_json(path, DataError, "get it again")
    path.write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match=r"settings\.json must be JSON, got: more than 64 levels of brackets; x"):
        read_json(path, CheckpointError, "x")
    path.unlink()
    with pytest.raises(CheckpointError, match=r"settings\.json must be JSON that can be read, got: No such file"):
        read_json(path, CheckpointError, "x")


@POSIX
def test_only_regular_files_are_opened_and_none_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        kinds = {tmp_path: "a folder", tmp_path / "pipe": "a named pipe", Path("/dev/zero"): "a device"}
        for path, kind in kinds.items():
            with pytest.raises(OSError, match=f"{kind} instead of a regular file"):
                open_regular(path)
        with pytest.raises(OSError, match="No such device"):
            open_regular(tmp_path / "socket")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match="a named pipe instead of a regular file"):
        open_regular(tmp_path / "link")
    for name in ("a\0b", "\ud800"):
        with pytest.raises(OSError, match="not a file name"):
            open_regular(tmp_path / name)


def test_a_file_beyond_the_limit_is_not_read_and_a_small_one_into_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10))
    assert read_regular(path, 10) == bytes(10)
    with pytest.raises(OSError, match="more than 9 bytes"):
        read_regular(path, 9)
    tracemalloc.start()
    try:
        assert read_regular(path) == bytes(10)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_long_header_of_tensors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    for length, problem in ((2**63, "a header of 9,223,372,036,854,775,808"), ((4 << 20) + 1, "a header of 4,194")):
        path.write_bytes(length.to_bytes(8, "little") + b"{}")
        for source in (path, path.read_bytes()):
            with pytest.raises(ValueError, match=problem):
                check_tensor_header(source)
    check_tensor_header((4 << 20).to_bytes(8, "little"))
