import json
from pathlib import Path

import synopses


def test_a_synopsis_stands_behind_the_dash_of_a_title() -> None:
    for title, synopsis in (
        ("aio - POSIX asynchronous I/O overview", "POSIX asynchronous I/O overview"),
        ("random(7) - overview of interfaces", "overview of interfaces"),
        ("abc \u2014 Abstract Base Classes \u2014 Python 3.11 documentation", "Abstract Base Classes"),
        ("File::Spec - portably perform operations on file names", "portably perform operations on file names"),
        ("aio - overview", ""),
        ("Submitting Patches", ""),
        ("The Frame Buffer Device API - and more of it", ""),
    ):
        assert synopses.synopsis(title) == synopsis


def test_only_the_first_text_of_a_file_has_its_synopsis(tmp_path: Path) -> None:
    title = "aio - an overview of it"
    rows = [{"id": f"manpages/aio#{part}", "title": title, "document": f"d{part}"} for part in (0, 1)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "validation.jsonl").touch()
    synopses.main([str(tmp_path)])
    (line,) = (tmp_path / "synopses-train.jsonl").read_text().splitlines()
    assert json.loads(line) == {"id": "manpages/aio#0", "document": "d0", "summary": "an overview of it"}
    assert (tmp_path / "synopses-validation.jsonl").read_text() == ""
