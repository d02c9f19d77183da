import pytest

from sumpool.documents.document import TextBlockKind
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.changelogs import change_text, is_release, latest_end


def sentences(*blocks: tuple[TextBlockKind, str]) -> list[SourceSentence]:
    return [SourceSentence(text, 0, 0, index, kind) for index, (kind, text) in enumerate(blocks)]


def release(version: str, changes: int) -> list[tuple[TextBlockKind, str]]:
    return [("heading", f"Version {version}"), *[("list_item", f"Change {index}") for index in range(changes)]]


def latest_of(*sizes: int) -> int:
    blocks = [block for index, size in enumerate(sizes) for block in release(f"{9 - index}.0", size)]
    return latest_end(sentences(*blocks))


def test_latest_release_ends_at_the_next() -> None:
    assert latest_of(3, 5) == 4
    assert latest_of(5) == 6


def test_a_release_of_few_changes_comes_with_the_next() -> None:
    assert latest_of(1, 4, 4) == 7


@pytest.mark.parametrize(
    ("kind", "text", "is_one"),
    [
        ("heading", "Noteworthy changes in version 2.2.40", True),
        ("heading", "Unreleased", True),
        ("paragraph", "v1.4.3 2022-10-31 The Irssi team", True),
        ("paragraph", "The gateway of version 1.4 is removed", False),
        ("heading", "Bug fixes", False),
        ("list_item", "1.4.3", False),
    ],
)
def test_headings_of_releases(kind: TextBlockKind, text: str, is_one: bool) -> None:
    assert is_release(sentences((kind, text))[0]) is is_one


def test_components_and_issues_are_no_part_of_a_change() -> None:
    assert change_text("gpg: Do not use AES. [T6205]") == "Do not use AES."
    assert change_text("Fix crash on upgrade (#1399, #1419)") == "Fix crash on upgrade"
    assert change_text("Fix freeze (with a warning)") == "Fix freeze (with a warning)"
