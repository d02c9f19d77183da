import json
from pathlib import Path
from types import ModuleType

import pytest

from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.marks import parse_sheet
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story
from tests.ranking.planted import row_of
from tests.scripts import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("docs/scripts/marks/blind_reading.py")


def test_sheets_are_shuffled_and_verdicts_become_a_table(script: ModuleType, tmp_path: Path) -> None:
    rows, marks, best = [], [], []
    for number in range(4):
        path = tmp_path / f"{number}.txt"
        path.write_text(story(number, 20))
        (document,) = read_documents(str(path))
        sentences = source_sentences(document, SentenceSplitter())
        rows.append({"id": f"d{number}", "path": str(path), "kind": "story"})
        marks.append({"document": f"d{number}", **row_of(parse_sheet("best: 9 2", sentences), sentences)})
        best.append(f"{sentences[2].text} {sentences[9].text}")
    ours = {row["path"]: "Ours." for row in rows}
    script.write_sheets(tmp_path / "out", rows, marks, {"ours": ours}, 3, 3)
    key = json.loads((tmp_path / "out/key.json").read_text())
    assert list(key) == ["01", "02", "03"]
    assert all(sorted(letters.values()) == ["lead", "ours", "reader"] for letters in key.values())
    assert len({tuple(letters.values()) for letters in key.values()}) > 1
    text = (tmp_path / "out/sheets/01.txt").read_text()
    place = text.index("\n----\n")
    letter = next(letter for letter, system in key["01"].items() if system == "ours")
    assert "expects:" in text[:place]
    assert f"\n{letter}. Ours.\n" in text[place:]
    assert any(extract in text[place:] for extract in best)

    def verdicts(satisfied: str) -> Path:
        lines = []
        for name, letters in key.items():
            lines.append(f"@{name}\nexpects: packets")
            for letter, system in letters.items():
                answer = satisfied if system == "ours" else "n"
                lines.append(f"{letter}: true=y principal=y readable={answer} satisfied={answer} faults=waste")
        path = tmp_path / f"{satisfied}.txt"
        path.write_text("\n".join(lines))
        return path

    table = script.verdict_table(key, [verdicts("y"), verdicts("n")])
    assert "| ours | 3, 3 | 3, 3 | 3, 0 | 3 [44%, 100%], 0 [0%, 56%] | 3 [44%, 100%], 0 [0%, 56%] | 0, 0 |" in table
    assert "true nan, principal nan" in table
    with pytest.raises(ValueError, match="@01 must have an answer to true, principal, readable, satisfied"):
        script.parse_verdicts("@01\nA: true=y\n", key)
    assert script.kappa([(True, True), (False, False), (True, False), (False, False)]) == pytest.approx(0.5)
