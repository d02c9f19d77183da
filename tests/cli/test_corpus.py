import json
import sys
from pathlib import Path

import pytest

from sumpool.cli.app import main
from tests.conftest import story


def refuse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run `summarize --ray local`, and return the line in which it is refused."""
    monkeypatch.setattr(sys, "argv", ["sumpool", "summarize", "--ray", "local", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"document": story(1, 5)}) + "\n")
    return "rows.jsonl"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--ray must come with --out FOLDER"),
        (("--out-dir", "out"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--explain", "a.html"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--json"), "--ray must come without --format, --json"),
        (("--out", "out", "--title"), "--ray must come without --format, --json"),
        (("--out", "out", "--limit", "3"), "--ray must come without --format, --json"),
        (("--out", "out", "-"), "--ray must have files, folders or their URIs"),
        (("--out", "out", "https://example.com/a.txt"), "--ray must have files, folders or their URIs"),
    ],
)
def test_options_that_ray_does_not_have_are_refused(
    words: tuple[str, ...],
    message: str,
    rows: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in refuse(monkeypatch, capsys, rows, *words)


def test_without_ray_the_extra_is_named(
    rows: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'sumpool[ray]'" in refuse(monkeypatch, capsys, rows, "--out", "out", "--fast")
