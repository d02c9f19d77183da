import json

from sumpool.interpret.evidence import Evidence, EvidenceSource, SentenceEvidence


def test_entries_are_json_with_rounded_weights() -> None:
    source = EvidenceSource(3, "Hosts send packets.", 10, 29, 2, None, 2 / 3)
    evidence = Evidence(
        (SentenceEvidence("Hosts send 42.", ("42",), (source,)), SentenceEvidence("Yes.", (), ())),
        frozenset({3}),
    )
    assert json.loads(json.dumps(evidence.entries())) == [
        {
            "sentence": "Hosts send 42.",
            "unsupported": ["42"],
            "sources": [
                {"text": "Hosts send packets.", "start": 10, "end": 29, "page": 2, "line": None, "weight": 0.6667}
            ],
        },
        {"sentence": "Yes.", "unsupported": [], "sources": []},
    ]
