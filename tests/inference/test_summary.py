import json
from pathlib import Path

from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary
from sumpool.io.json_lines import ResumableFile


def test_a_line_is_json_whatever_the_text_holds(tmp_path: Path) -> None:
    ids = ["../../x", "a\nb", 'quote"', "\x1b[31m", "\u2028", "\udc80", "é"]
    with ResumableFile(tmp_path / "out.jsonl", resume=False) as file:
        for id in ids:
            file.append(Summary(id, "text\nof two lines", -0.25, 8, 9, 0.1234567).as_json())
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert json.loads(lines[0]) == {
        "id": "../../x",
        "summary": "text\nof two lines",
        "score": -0.25,
        "tokens_read": 8,
        "tokens_total": 9,
        "seconds": 0.1235,
        "reason": "",
        "mode": "abstractive",
        "title": "",
        "language": "",
        "model": "",
        "notes": [],
    }


def test_entries_are_json_with_rounded_weights() -> None:
    source = EvidenceSource(3, "Hosts send packets.", 10, 29, 2, None, 2 / 3)
    evidence = (SentenceEvidence("Hosts send 42.", ("42",), (source,)), SentenceEvidence("Yes.", (), ()))
    assert json.loads(Summary("a", "text", None, 8, 9, evidence=evidence).as_json())["evidence"] == [
        {
            "sentence": "Hosts send 42.",
            "unsupported": ["42"],
            "sources": [
                {"text": "Hosts send packets.", "start": 10, "end": 29, "page": 2, "line": None, "weight": 0.6667}
            ],
        },
        {"sentence": "Yes.", "unsupported": [], "sources": []},
    ]
