import re
from pathlib import Path

from sumpool.workflows.sample import sample_document

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = 1300
COLUMNS = 100


def test_length() -> None:
    assert len(README.split()) <= WORDS


def test_no_line_is_wider_than_a_page() -> None:
    assert [line for line in README.splitlines() if len(line) > COLUMNS] == []


def test_results_with_baselines_come_before_the_commands() -> None:
    assert README.index("LEAD, 60 words") < README.index("## Results") + 1000 < README.index("## Commands")
    assert README.count("docs/architecture.svg") == 1


def test_it_says_that_summaries_are_mostly_extractive() -> None:
    assert "mostly extractive" in README


def test_it_names_no_package_that_an_index_lacks() -> None:
    assert not re.search(r"pip install [^\n]*\bsumpool\b", README)


def test_the_example_is_made_of_sentences_of_the_document() -> None:
    quote = " ".join(line.removeprefix("> ") for line in README.splitlines() if line.startswith("> "))
    example = sample_document("RFC2587")
    sentences = re.split(r"(?<=\.) (?=[A-Z])", quote)
    assert len(sentences) >= 2
    document = " ".join(example.document.split())
    assert all(sentence in document for sentence in sentences)
    assert not any(sentence in example.summary for sentence in sentences)
