import json
import sys
from pathlib import Path

import pytest

from tests.conftest import exit_code, story

SAMPLES = Path(__file__).parents[1] / "documents/formats/samples"


def test_documents_are_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("convert", str(SAMPLES / "pdf.pdf")) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("<!-- page 1 -->\n\n# On Gateways and Packets\n\n# 1 Introduction\n\nA gateway ")
    (tmp_path / "b--.txt").write_text("Plain.")
    (tmp_path / "a.docx").write_text("no document")
    assert exit_code("convert", str(tmp_path), "--output", str(tmp_path / "all.md")) == 3
    shown = capsys.readouterr()
    assert not shown.out
    assert f"{tmp_path}/a.docx must be" in shown.err
    assert "1 documents cannot be read; see the reasons above" in shown.err
    assert (tmp_path / "all.md").read_text() == f"<!-- {tmp_path}/b- -.txt -->\n\nPlain.\n"
    (tmp_path / "c.txt").write_text("Other.")
    assert exit_code("convert", f"{tmp_path}/b--.txt", f"{tmp_path}/c.txt") == 0
    assert "Plain.\n\n<!-- " in capsys.readouterr().out


def test_sheets_are_written_and_the_next_step_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/a.txt").write_text(story(1, 20))
    Path("docs/b.md").write_text(story(2, 20))
    assert exit_code("mark", "docs", "--glob", "*.txt") == 0
    shown = capsys.readouterr()
    assert shown.out == "marks: 1 new sheet\n"
    assert "sumpool train RECIPE --set select.marks=marks" in shown.err
    assert Path("marks/a.txt.txt").read_text().startswith(f"document: {tmp_path / 'docs/a.txt'}\nkind:\n")
    assert exit_code("mark", "missing.txt", "--out-dir", "other") == 3
    assert "missing.txt" in capsys.readouterr().err


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
