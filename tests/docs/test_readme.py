import re
from pathlib import Path

from sumpool.cli.sample import sample_document

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_is_made_of_sentences_of_the_document() -> None:
    quote = " ".join(line.removeprefix("> ") for line in README.splitlines() if line.startswith("> "))
    example = sample_document("RFC2587")
    sentences = re.split(r"(?<=\.) (?=[A-Z])", quote)
    assert len(sentences) >= 2
    document = " ".join(example.document.split())
    assert all(sentence in document for sentence in sentences)
    assert not any(sentence in example.summary for sentence in sentences)
