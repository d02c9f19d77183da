from pathlib import Path

import pytest

from tests.conftest import exit_code

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
