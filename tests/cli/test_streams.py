import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.io.manifest import SHIPPED

SUMPOOL = f"{sys.executable} -m sumpool"
SUMMARIZE = f"{SUMPOOL} summarize --fast --model {SHIPPED}"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Routers send packets to hosts in Zürich → “links”. Hosts send packets.", "utf-8")


def shell(command: str) -> tuple[int, bytes, list[str]]:
    """Return the exit code, the standard output and the lines of standard error of a shell command."""
    ended = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    return ended.returncode, ended.stdout, ended.stderr.decode().splitlines()


@pytest.mark.slow
def test_streams_that_fail_are_told_in_one_line() -> None:
    for command, code, last in (
        (f"{SUMMARIZE} <&-", 3, "error: standard input must be open, but it is closed: name a file"),
        (f"{SUMMARIZE} a.txt >&-", 2, "error: standard output must be open, but it is closed: redirect it"),
        (f"{SUMMARIZE} a.txt | true", 141, "standard output must be read to its end, but its reader has gone"),
        (f"{SUMMARIZE} a.txt >/dev/full", 6, "error: No space left on device"),
    ):
        ended, shown, told = shell(command)
        assert (ended, shown) == (code, b"")
        assert told[-1].startswith(last)
        assert not any("Traceback" in line or "bug in sumpool" in line for line in told)


@pytest.mark.slow
def test_a_full_stderr_loses_messages_only() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is full")
    code, summary, _ = shell(f"{SUMMARIZE} a.txt")
    assert (code, bool(summary)) == (0, True)
    assert shell(f"{SUMMARIZE} a.txt 2>/dev/full")[:2] == (0, summary)
    assert shell(f"{SUMMARIZE} a.txt missing.txt 2>/dev/full")[0] == 3
    assert shell(f"{SUMMARIZE} a.txt --out full.jsonl 2>/dev/full")[0] == 0
    assert Path("full.jsonl").exists()


def test_a_closed_stderr_loses_messages_only() -> None:
    before = Path("a.txt").read_bytes()
    code, shown, told = shell(f"{SUMMARIZE} a.txt 2>&-")
    assert (code, told) == (0, [])
    assert "Hosts send packets" in shown.decode()
    assert Path("a.txt").read_bytes() == before
    assert [path.name for path in Path().iterdir()] == ["a.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_an_encoding_lacks_are_escaped(encoding: str) -> None:
    code, shown, _ = shell(f"PYTHONIOENCODING={encoding} {SUMMARIZE} a.txt")
    assert code == 0
    assert r"\u2192 \u201clinks\u201d" in shown.decode(encoding)
    assert ("Zürich" if encoding == "latin-1" else r"Z\u00fcrich") in shown.decode(encoding)
    code, shown, _ = shell(f"PYTHONIOENCODING={encoding} {SUMMARIZE} a.txt --json")
    assert "Zürich → “links”" in json.loads(shown.decode(encoding))["summary"]


def test_an_empty_file_is_told() -> None:
    for name, content, reason in (
        ("e.jsonl", "", "e.jsonl must hold rows, got none"),
        ("e.csv", "id,text\n", "e.csv must hold rows, got none"),
        ("e.txt", "", "no summary: "),
    ):
        Path(name).write_text(content)
        code, shown, told = shell(f"{SUMMARIZE} {name}")
        assert (code, shown) == (3, b"")
        assert any(reason in line for line in told)
        assert told[-1].startswith("error: no document could be summarised")


def test_a_line_feed_in_a_file_name_begins_no_line() -> None:
    Path("b\nerror: forged.txt").write_text("")
    _, _, told = shell(f"{SUMMARIZE} $'b\\nerror: forged.txt' a.txt")
    assert not any(line.startswith("error: forged") for line in told)
    assert any(r"b\u000aerror: forged.txt: no summary" in line for line in told)
