import errno
import json
import os
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.evaluation.rouge import TYPES, EvaluationConfig, Score
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, ScoredDocument, SummaryMetrics, SummaryScorer
from sumpool.evaluation.scores import (
    LINE,
    finish_results,
    incomplete_folder,
    locked_results,
    open_scores,
    read_common,
    read_scores,
)
from sumpool.evaluation.task import file_sha256
from sumpool.io.manifest import Manifest
from sumpool.text.fragments import Copying

IDENTITY = {"settings": "a", "summaries": "b", "rouge": "c"}


SCORER = SummaryScorer(EvaluationConfig())


def scored(number: int) -> ScoredDocument:
    text = f"Höst {number} sends\u2028datagrams."
    return SCORER.score(Candidate(ReferenceDocument(f"d{number}", "A host sends.", text), text))


def write(folder: Path, numbers: list[int], *, resume: bool) -> list[str]:
    with open_scores(folder, IDENTITY, resume=resume) as file:
        done = [document.id for document in read_scores(file.path)]
        for number in numbers:
            file.append(LINE.dump_json(scored(number)).decode())
    return done


def unfinished(folder: Path) -> Path:
    """The scores of an evaluation that is not finished."""
    return incomplete_folder(folder) / "documents.jsonl"


def test_scores_are_read_back(tmp_path: Path) -> None:
    with open_scores(tmp_path / "new" / "folder", IDENTITY, resume=False) as file:
        file.append(LINE.dump_json(scored(1)).decode())
        assert list(read_scores(file.path)) == [scored(1)]  # before the file is closed


@pytest.mark.parametrize("is_finished", [False, True])
def test_another_evaluation_is_not_resumed(tmp_path: Path, is_finished: bool) -> None:
    folder = tmp_path / "a"
    write(folder, [1], resume=False)
    if is_finished:
        finish_results(folder, "{}\n", documents=1)
    with pytest.raises(DataError, match="must hold the same summaries to go on, got 'b' there and 'c' now"):
        open_scores(folder, {**IDENTITY, "summaries": "c"}, resume=True)
    assert write(folder, [], resume=True) == ["d1"]


def test_results_appear_when_they_are_finished(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    assert not folder.exists()
    read_common({"a": incomplete_folder(folder)})
    finish_results(folder, "{}\n", documents=2)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    manifest = Manifest.read(folder, "evaluation")
    assert set(manifest.files) == {"documents.jsonl", "evaluation.json", "report.json"}
    assert manifest.facts == {"documents": 2}
    read_common({"a": folder})
    content = bytearray((folder / "documents.jsonl").read_bytes())
    content[-20] ^= 1
    (folder / "documents.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"documents\.jsonl must hold .* it is damaged or was changed"):
        read_common({"a": folder})


def test_older_results_stay_until_new_ones_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    finish_results(folder, "older", documents=2)
    older = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(folder, [3], resume=False)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == older
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(ResourceError, match=r"a must be written completely, .*No space left"):
            finish_results(folder, "newer", documents=1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == older
    finish_results(folder, "newer", documents=1)
    assert (folder / "report.json").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_finished_results_are_continued_as_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write(folder, [1, 2], resume=False)
    finish_results(folder, "{}\n", documents=2)
    assert write(folder, [3], resume=True) == ["d1", "d2"]
    assert (folder / "documents.jsonl").read_bytes().count(b"\n") == 2
    finish_results(folder, "{}\n", documents=3)
    assert (folder / "documents.jsonl").read_bytes().count(b"\n") == 3


def test_results_of_a_process_killed_while_it_replaced_them_are_restored(tmp_path: Path) -> None:
    write(tmp_path / "a", [1], resume=False)
    finish_results(tmp_path / "a", "{}\n", documents=1)
    (tmp_path / "a").rename(tmp_path / ".tmp-old-a")
    with locked_results(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


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


def results(folder: Path, f1s: dict[str, float], settings: str = "usual", words: int | None = None) -> Path:
    with open_scores(folder, {"rouge": settings}, resume=False) as file:
        for number, (name, f1) in enumerate(f1s.items()):
            copying = Copying(leak=0.0, facts=0, unsupported=0)
            metrics = SummaryMetrics({kind: Score(0.0, 0.0, f1) for kind in TYPES}, 40, 0.0, copying)
            document = ScoredDocument(name, "text", 0.5 * (number % 2), None, True, {"model": metrics}, words)
            file.append(LINE.dump_json(document).decode())
    finish_results(folder, "{}", documents=len(f1s))
    return folder


def test_documents_are_matched_by_id(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    theirs = {f"d{number}": float(random.uniform(0.2, 0.5)) for number in range(40)}
    ours = {name: f1 + 0.05 + float(random.normal(0, 0.01)) for name, f1 in theirs.items()}
    shuffled = dict(reversed(list(theirs.items())))
    common = read_common({"a": results(tmp_path / "a", ours), "b": results(tmp_path / "b", {**shuffled, "more": 0.9})})
    assert list(common) == list(ours)
    scores = {name: [scored.systems["model"].rouge["rouge1"].f1 for scored in both] for name, both in common.items()}
    assert scores == {name: [ours[name], theirs[name]] for name in ours}
    only = read_common({"a": tmp_path / "a", "c": results(tmp_path / "c", {"d7": 0.3, "d3": 0.2}), "b": tmp_path / "b"})
    assert [(name, len(systems)) for name, systems in only.items()] == [("d3", 3), ("d7", 3)]


def test_incomparable_results_are_refused(tmp_path: Path) -> None:
    ours = results(tmp_path / "a", {"d1": 0.3})
    with pytest.raises(DataError, match="same settings, got 'other' and here 'usual'"):
        read_common({"a": ours, "b": results(tmp_path / "b", {"d1": 0.3}, "other")})
    with pytest.raises(DataError, match=r"must contain documents that .* has too, got none"):
        read_common({"a": ours, "b": results(tmp_path / "c", {"d2": 0.3})})
    lengths = {name: results(tmp_path / name, {"d1": 0.3}, words=words) for name, words in (("x", 70), ("y", 80))}
    with pytest.raises(DataError, match="must have summarised the same documents, got d1 with 70 and 80 words"):
        read_common({"a": ours, **lengths})
    with (tmp_path / "c" / "documents.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match="it is damaged or was changed"):
        read_common({"a": ours, "b": tmp_path / "c"})
    (tmp_path / "c" / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"c/manifest\.json must be readable"):
        read_common({"a": ours, "b": tmp_path / "c"})
    with open_scores(tmp_path / "d", {"rouge": "usual"}, resume=False):
        unfinished = incomplete_folder(tmp_path / "d")
    (unfinished / "evaluation.json").write_text(json.dumps([]))
    with pytest.raises(DataError, match="must contain the results of an evaluation"):
        read_common({"d": unfinished, "a": ours})


def test_an_input_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"text")
    assert file_sha256(tmp_path / "input") == sha256(b"text").hexdigest()
    with pytest.raises(DataError, match=r"missing must be a file that can be read, got: .*No such file"):
        file_sha256(tmp_path / "missing")
