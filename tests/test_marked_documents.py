"""The corpus of marks in `docs/scripts/marks`, and its scripts on documents that stand for the fetched ones."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import blind_reading
import marked_documents
import pytest

from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.boosting import Boosting
from sumpool.ranking.fit import Fitting, fit_ranker
from sumpool.ranking.marks import CHOICES, parse_sheet
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story, write_lines
from tests.ranking.planted import example, featured, row_of


def test_every_document_has_marks_and_every_source_one_part() -> None:
    documents = marked_documents.rows("documents.jsonl")
    first = {row["document"]: row for row in marked_documents.rows("first.jsonl")}
    second = {row["document"]: row for row in marked_documents.rows("second.jsonl")}
    assert len(documents) == 1172
    assert first.keys() == {row["id"] for row in documents}
    assert len(second) == 148
    assert second.keys() <= first.keys()
    for marks in first.values():
        assert marks["best"]
        highest = max(index for name in CHOICES for index in marks.get(name, ()))
        assert highest < len(marks["hashes"]) // marked_documents.HASH_DIGITS
    parts = {(row["source"], row["part"]) for row in documents}
    assert len(parts) == len({source for source, _ in parts})


def test_marks_find_their_sentences_in_another_splitting() -> None:
    sentences = source_sentences(Document("a", story(1, 8)), SentenceSplitter())
    row = row_of(parse_sheet("best: 3\ngood: 2\njunk: 5", sentences), sentences)
    assert marked_documents.marks_of(row, sentences) == parse_sheet("best: 3\ngood: 2\njunk: 5", sentences)
    shouted = replace(sentences[3], text=f"{sentences[3].text.upper()}  !")
    other = (SourceSentence("A new sentence.", 0, 15), *sentences[:2], shouted, *sentences[4:])
    moved = marked_documents.marks_of(row, other)
    assert (moved.best, moved.good, moved.junk) == ((3,), (), (5,))


def test_the_domain_is_that_of_the_documents_with_references(tmp_path: Path) -> None:
    config = Fitting(min_documents=5, boosting=Boosting(trees=20, leaves=4, min_rows=5))
    ranker = fit_ranker([example(seed) for seed in range(30)], config)
    others = [featured("\n\n".join(story(seed + part, 6) for part in range(4)))[0] for seed in range(60)]
    learnt = [example(seed).features for seed in range(30, 90)]
    fitted = marked_documents.fit_domain(ranker, learnt[:40], others[:40])
    assert ranker.is_in_domain(ranker.inputs(learnt[0])) is None
    assert all(fitted.is_in_domain(fitted.inputs(item)) for item in learnt[40:])
    assert not any(fitted.is_in_domain(fitted.inputs(item)) for item in others[40:])
    (tmp_path / FILE).write_bytes(fitted.to_bytes())
    again = Ranker.load(tmp_path)
    assert all(again.is_in_domain(again.inputs(item)) for item in learnt[40:])


@pytest.mark.slow
def test_marks_are_fitted_and_tabulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents, marks = [], []
    for number in range(12):
        path = tmp_path / f"d{number}.md"
        path.write_text(f"# Packets\n\n{story(number, 30)}\n")
        (document,) = read_documents(str(path))
        sentences = source_sentences(document, SentenceSplitter())
        part = "test" if number > 9 else "train"
        row = {"id": f"d{number}", "suffix": ".md", "part": part, "language": "en", "repository": "a/b"}
        documents.append({**row, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "path": "p", "commit": "c"})
        marks.append(
            {"document": f"d{number}", **row_of(parse_sheet("best: 3\ngood: 5 9\njunk: 7", sentences), sentences)}
        )
    (tmp_path / "marks").mkdir()
    for name, rows in (("documents", documents), ("first", marks), ("second", marks[-1:])):
        write_lines(tmp_path / f"marks/{name}.jsonl", rows)
    monkeypatch.setattr(marked_documents, "HERE", tmp_path / "marks")
    run = Path(shutil.copytree(SHIPPED, tmp_path / "run"))
    references = [{"id": str(number), "document": story(number, 20), "summary": "s"} for number in range(5)]
    write_lines(tmp_path / "texts.jsonl", references)
    monkeypatch.setattr(marked_documents, "LEARNT_DOCUMENTS", 3)
    marked_documents.fit(tmp_path, run, tmp_path / "texts.jsonl")
    ranker = Ranker.load(run)
    assert ranker.choice
    assert ranker.domain
    lines = marked_documents.table(tmp_path, run, "test", 20).splitlines()
    assert lines[2].startswith("| LEAD | 2 | ")
    assert lines[5].startswith("| a second reader | 1 | 1.00 | 1.00 | 0 | 0 | ")
    assert lines[8].startswith("| summarize --fast | 2 | ")


def test_a_document_that_changed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "d", "suffix": ".txt", "path": "a/d.txt", "repository": "a/b", "commit": "c", "sha256": "0" * 64}
    monkeypatch.setattr(marked_documents, "rows", lambda _: [row])
    monkeypatch.setattr(marked_documents, "_from_github", lambda _: b"text")
    marked_documents.fetch(tmp_path / "out", None)
    assert capsys.readouterr().err == "d: a/b a/d.txt must be the file that was marked\n"
    row["sha256"] = hashlib.sha256(b"text").hexdigest()
    marked_documents.fetch(tmp_path / "out", None)
    assert (tmp_path / "out/d.txt").read_bytes() == b"text"


def test_sheets_are_shuffled_and_verdicts_become_a_table(tmp_path: Path) -> None:
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
    blind_reading.write_sheets(tmp_path / "out", rows, marks, {"ours": ours}, 3, 3)
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

    table = blind_reading.verdict_table(key, [verdicts("y"), verdicts("n")])
    assert "| ours | 3, 3 | 3, 3 | 3, 0 | 3 [44%, 100%], 0 [0%, 56%] | 3 [44%, 100%], 0 [0%, 56%] | 0, 0 |" in table
    assert "true nan, principal nan" in table
    with pytest.raises(ValueError, match="@01 must have an answer to true, principal, readable, satisfied"):
        blind_reading.parse_verdicts("@01\nA: true=y\n", key)
    assert blind_reading.kappa([(True, True), (False, False), (True, False), (False, False)]) == pytest.approx(0.5)
