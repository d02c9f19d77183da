from pathlib import Path

import pytest

from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.scorer import Candidate, ScoredDocument, SummaryScorer
from sumpool.evaluation.scores import (
    append_scores,
    finish_results,
    open_scores,
    read_scores,
    require_results_folder,
    verify_scores,
)
from sumpool.io.manifest import Manifest

IDENTITY = {"settings": "a", "summaries": "b"}


SCORER = SummaryScorer(EvaluationConfig())


def scored(number: int) -> ScoredDocument:
    text = f"Höst {number} sends\u2028datagrams."
    return SCORER.score(Candidate(f"d{number}", text, "A host sends.", text))


def write(folder: Path, numbers: list[int], *, resume: bool) -> list[str]:
    with open_scores(folder, IDENTITY, resume=resume) as file:
        done = [document.id for document in read_scores(file.path)]
        for number in numbers:
            append_scores(file, scored(number))
    return done


def test_scores_are_read_back(tmp_path: Path) -> None:
    with open_scores(tmp_path / "new" / "folder", IDENTITY, resume=False) as file:
        append_scores(file, scored(1))
        assert list(read_scores(file.path)) == [scored(1)]  # before the file is closed


def test_resuming_after_a_kill_gives_the_same_file(tmp_path: Path) -> None:
    write(tmp_path / "whole", [1, 2, 3], resume=False)
    whole = (tmp_path / "whole" / "documents.jsonl").read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (0, 1, first - 1, first, first + 1, len(whole) - 1):
        folder = tmp_path / f"cut{cut}"
        write(folder, [], resume=False)
        (folder / "documents.jsonl").write_bytes(whole[:cut])
        done = write(folder, [], resume=True)
        assert done == [f"d{number}" for number in range(1, whole[:cut].count(b"\n") + 1)]
        write(folder, [number for number in (1, 2, 3) if f"d{number}" not in done], resume=True)
        assert (folder / "documents.jsonl").read_bytes() == whole


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, [1], resume=False)
    path = tmp_path / "documents.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "' + b"x" * 200_000)
    assert write(tmp_path, [], resume=True) == ["d1"]
    assert path.read_bytes() == whole


def test_without_resume_the_file_starts_anew(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], resume=False)
    assert write(tmp_path, [3], resume=False) == []
    assert (tmp_path / "documents.jsonl").read_bytes().count(b"\n") == 1


def test_another_evaluation_is_not_resumed(tmp_path: Path) -> None:
    write(tmp_path, [1], resume=False)
    with pytest.raises(DataError, match="must hold the same summaries to go on, got 'b' there and 'c' now"):
        open_scores(tmp_path, {**IDENTITY, "summaries": "c"}, resume=True)
    assert write(tmp_path, [], resume=True) == ["d1"]


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"\xff"])
def test_scores_of_unknown_origin_are_not_resumed(tmp_path: Path, content: bytes | None) -> None:
    write(tmp_path, [1], resume=False)
    described = tmp_path / "evaluation.json"
    if content is None:
        described.unlink()
    else:
        described.write_bytes(content)
    with pytest.raises(DataError, match=r"evaluation\.json must say what the results are of"):
        open_scores(tmp_path, IDENTITY, resume=True)


def test_a_damaged_line_is_reported(tmp_path: Path) -> None:
    write(tmp_path, [1], resume=False)
    with (tmp_path / "documents.jsonl").open("ab") as file:
        file.write(b'{"id": 3}\n')
    with pytest.raises(DataError, match=r"documents.jsonl:2 must be a line of scores, got b'\{\"id\": 3\}"):
        write(tmp_path, [], resume=True)


def test_results_have_a_manifest_once_they_are_finished(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], resume=False)
    verify_scores(tmp_path)
    finish_results(tmp_path, "{}\n", documents=2)
    manifest = Manifest.read(tmp_path, "evaluation")
    assert set(manifest.files) == {"documents.jsonl", "evaluation.json", "report.json"}
    assert manifest.facts == {"documents": 2}
    verify_scores(tmp_path)
    content = bytearray((tmp_path / "documents.jsonl").read_bytes())
    content[-20] ^= 1
    (tmp_path / "documents.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"documents\.jsonl must hold .* it is damaged or was changed"):
        verify_scores(tmp_path)
    write(tmp_path, [3], resume=False)
    assert not (tmp_path / "manifest.json").exists()


def test_folders_of_results_may_be_written_to(tmp_path: Path) -> None:
    require_results_folder(tmp_path / "missing")
    require_results_folder(tmp_path)
    write(tmp_path, [1], resume=False)
    finish_results(tmp_path, "{}\n", documents=1)
    (tmp_path / ".tmp-report.json").touch()
    require_results_folder(tmp_path)


def test_folders_with_anything_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecipeError, match="file must be a folder for the results of an evaluation, got a file"):
        require_results_folder(tmp_path / "file")
    write(tmp_path / "results", [1], resume=False)
    (tmp_path / "results" / "notes.txt").touch()
    with pytest.raises(RecipeError, match=r"results must be empty or hold .* got notes\.txt; choose another --out"):
        require_results_folder(tmp_path / "results")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "evaluation.json").write_text("[]")
    with pytest.raises(RecipeError, match=r"other must be empty or hold .* got evaluation\.json"):
        require_results_folder(tmp_path / "other")
