import errno
import os
from pathlib import Path

import pytest

from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.scorer import Candidate, ScoredDocument, SummaryScorer
from sumpool.evaluation.scores import (
    append_scores,
    finish_results,
    incomplete_folder,
    locked_results,
    open_scores,
    read_scores,
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


def unfinished(folder: Path) -> Path:
    """The scores of an evaluation that is not finished."""
    return incomplete_folder(folder) / "documents.jsonl"


def test_scores_are_read_back(tmp_path: Path) -> None:
    with open_scores(tmp_path / "new" / "folder", IDENTITY, resume=False) as file:
        append_scores(file, scored(1))
        assert list(read_scores(file.path)) == [scored(1)]  # before the file is closed


def test_resuming_after_a_kill_gives_the_same_file(tmp_path: Path) -> None:
    write(tmp_path / "whole", [1, 2, 3], resume=False)
    whole = unfinished(tmp_path / "whole").read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (0, 1, first - 1, first, first + 1, len(whole) - 1):
        folder = tmp_path / f"cut{cut}"
        write(folder, [], resume=False)
        unfinished(folder).write_bytes(whole[:cut])
        done = write(folder, [], resume=True)
        assert done == [f"d{number}" for number in range(1, whole[:cut].count(b"\n") + 1)]
        write(folder, [number for number in (1, 2, 3) if f"d{number}" not in done], resume=True)
        assert unfinished(folder).read_bytes() == whole


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    write(tmp_path / "a", [1], resume=False)
    path = unfinished(tmp_path / "a")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "' + b"x" * 200_000)
    assert write(tmp_path / "a", [], resume=True) == ["d1"]
    assert path.read_bytes() == whole


def test_without_resume_the_file_starts_anew(tmp_path: Path) -> None:
    write(tmp_path / "a", [1, 2], resume=False)
    assert write(tmp_path / "a", [3], resume=False) == []
    assert unfinished(tmp_path / "a").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("is_finished", [False, True])
def test_another_evaluation_is_not_resumed(tmp_path: Path, is_finished: bool) -> None:
    folder = tmp_path / "a"
    write(folder, [1], resume=False)
    if is_finished:
        finish_results(folder, "{}\n", documents=1)
    with pytest.raises(DataError, match="must hold the same summaries to go on, got 'b' there and 'c' now"):
        open_scores(folder, {**IDENTITY, "summaries": "c"}, resume=True)
    assert write(folder, [], resume=True) == ["d1"]


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"\xff"])
def test_scores_of_unknown_origin_are_not_resumed(tmp_path: Path, content: bytes | None) -> None:
    write(tmp_path / "a", [1], resume=False)
    described = incomplete_folder(tmp_path / "a") / "evaluation.json"
    if content is None:
        described.unlink()
    else:
        described.write_bytes(content)
    with pytest.raises(DataError, match=r"evaluation\.json must say what the results are of"):
        open_scores(tmp_path / "a", IDENTITY, resume=True)


def test_a_damaged_line_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "a", [1], resume=False)
    with unfinished(tmp_path / "a").open("ab") as file:
        file.write(b'{"id": 3}\n')
    with pytest.raises(DataError, match=r"documents.jsonl:2 must be a line of scores, got b'\{\"id\": 3\}"):
        write(tmp_path / "a", [], resume=True)


def test_results_appear_when_they_are_finished(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    assert not folder.exists()
    verify_scores(incomplete_folder(folder))
    finish_results(folder, "{}\n", documents=2)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    manifest = Manifest.read(folder, "evaluation")
    assert set(manifest.files) == {"documents.jsonl", "evaluation.json", "report.json"}
    assert manifest.facts == {"documents": 2}
    verify_scores(folder)
    content = bytearray((folder / "documents.jsonl").read_bytes())
    content[-20] ^= 1
    (folder / "documents.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"documents\.jsonl must hold .* it is damaged or was changed"):
        verify_scores(folder)


def test_older_results_stay_until_new_ones_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    finish_results(folder, "older", documents=2)
    older = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(folder, [3], resume=False)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == older
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(ResourceError, match=r"a must be written completely, .*No space left"):
            finish_results(folder, "newer", documents=1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == older
    finish_results(folder, "newer", documents=1)
    assert (folder / "report.json").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def fail(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_finished_results_are_continued_as_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    finish_results(folder, "{}\n", documents=2)
    assert write(folder, [3], resume=True) == ["d1", "d2"]
    assert (folder / "documents.jsonl").read_bytes().count(b"\n") == 2
    finish_results(folder, "{}\n", documents=3)
    assert (folder / "documents.jsonl").read_bytes().count(b"\n") == 3


def test_folders_of_results_may_be_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    with locked_results(folder):
        pass
    folder.mkdir()
    with locked_results(folder):
        pass
    write(folder, [1], resume=False)
    with locked_results(folder):
        pass
    finish_results(folder, "{}\n", documents=1)
    with locked_results(folder):
        pass
    write(folder, [1], resume=False)
    (incomplete_folder(folder) / ".tmp-report.json").touch()
    with locked_results(folder):
        pass


def test_results_of_a_process_killed_while_it_replaced_them_are_restored(tmp_path: Path) -> None:
    write(tmp_path / "a", [1], resume=False)
    finish_results(tmp_path / "a", "{}\n", documents=1)
    (tmp_path / "a").rename(tmp_path / ".tmp-old-a")
    with locked_results(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_folders_with_anything_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RecipeError, match="file must be new or an empty folder, got a file; choose another --out"),
        locked_results(tmp_path / "file"),
    ):
        pass
    write(tmp_path / "results", [1], resume=False)
    finish_results(tmp_path / "results", "{}\n", documents=1)
    (tmp_path / "results" / "notes.txt").touch()
    with (
        pytest.raises(RecipeError, match=r"results must hold nothing but the results of an .*, got notes\.txt; choose"),
        locked_results(tmp_path / "results"),
    ):
        pass
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "evaluation.json").write_text("[]")
    with (
        pytest.raises(RecipeError, match=r"other must be new, empty or .*, got other content \(evaluation\.json, no"),
        locked_results(tmp_path / "other"),
    ):
        pass


@pytest.mark.parametrize("change", ["no manifest", "foreign manifest", "more"])
def test_unfinished_results_with_anything_else_are_refused(tmp_path: Path, change: str) -> None:
    write(tmp_path / "a", [1], resume=False)
    incomplete = incomplete_folder(tmp_path / "a")
    match change:
        case "no manifest":
            (incomplete / "manifest.json").unlink()
        case "foreign manifest":
            (incomplete / "manifest.json").write_text("{}")
        case "more":
            (incomplete / "notes.txt").touch()
    with (
        pytest.raises(
            RecipeError, match=r"\.a\.incomplete must hold the unfinished results of an evaluation alone, got"
        ),
        locked_results(tmp_path / "a"),
    ):
        pass
    assert unfinished(tmp_path / "a").exists()


def test_results_at_a_link_to_nothing_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "missing" / "results")
    with pytest.raises(RecipeError, match="got a link to nothing"), locked_results(tmp_path / "out"):
        pass
    assert not (tmp_path / "missing").exists()
