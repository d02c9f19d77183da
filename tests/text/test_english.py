import io
import json

import pytest

from sumpool.text import english


def test_names_and_identifiers_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prose = "The cat sat. A dog saw the cat, and Zebulon saw dog42. " * 30
    monkeypatch.setattr("sys.stdin", io.StringIO(prose))
    english.main()
    content = json.loads(capsys.readouterr().out)
    assert "cat" in content["orthographic_context"]
    assert not {"zebulon", "dog42"} & set(content["orthographic_context"])
    assert content["abbreviations"] == sorted(english.ABBREVIATIONS.split())
    assert content["collocations"] == []
