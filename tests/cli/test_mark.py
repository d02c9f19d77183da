from pathlib import Path

import pytest

from tests.conftest import exit_code, story


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
