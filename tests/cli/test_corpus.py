import json
import sys
from pathlib import Path

import pytest

from tests.conftest import exit_code, story


def refuse(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command with `--ray local`, and return the line in which it is refused."""
    assert exit_code("summarize", "--ray", "local", *words) == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"document": story(1, 5)}) + "\n")
    return "rows.jsonl"


def test_options_that_ray_does_not_have_are_refused(rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        ((), "--ray must come with --out FOLDER"),
        (("--out-dir", "out"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--explain", "a.html"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--json"), "--ray must come without --format, --json"),
        (("--out", "out", "--title"), "--ray must come without --format, --json"),
        (("--out", "out", "--limit", "3"), "--ray must come without --format, --json"),
        (("--out", "out", "-"), "--ray must have files, folders or their URIs"),
        (("--out", "out", "https://example.com/a.txt"), "--ray must have files, folders or their URIs"),
    ):
        assert message in refuse(capsys, rows, *words)


def test_without_ray_the_extra_is_named(
    rows: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'sumpool[ray]'" in refuse(capsys, rows, "--out", "out", "--fast")
