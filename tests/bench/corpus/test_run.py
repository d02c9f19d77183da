from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from sumpool.bench.corpus import measure
from sumpool.bench.corpus import run as workflow
from sumpool.bench.corpus.measure import NAMES, OURS, SHIPPED
from sumpool.bench.corpus.process import ProcessRun
from sumpool.bench.corpus.run import bench_corpus
from sumpool.errors import Interrupted, RecipeError
from sumpool.io.bounded import parse_json
from sumpool.progress import no_op

pytestmark = pytest.mark.slow

SMALL = ["bench.documents=4", "bench.generate=6", "bench.repeats=1", "bench.batches=[2]", "bench.trial=2"]


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra peers")
def test_processes_are_measured_from_their_start_and_peers_in_their_fastest_precision(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_PRECISIONS", ("bfloat16",))
    changes = [*SMALL, "bench.peers=[LED]"]
    report = bench_corpus(run_folder, changes, True, no_op, no_op)
    rows = {row["system"]: row for row in report.result.rows["corpus"]}
    assert [*rows] == [OURS, SHIPPED, "LED"]
    for row in rows.values():
        assert row.note == ""
        assert row.timing
        assert len(row.timing.seconds) == len(row["firsts"]) == 1
        assert 0 < row["first"] < row["median"]
        assert row["documents_per_second"] == pytest.approx(4 / row["median"])
        assert row["energy"]
    assert rows[OURS]["times"] == 1
    text = report.result.tables[0].title
    assert text.startswith("4 RFCs of ")
    assert "6 tokens written with 2 beams" in text
    assert len(parse_json(report.to_json())["corpus"][0]["seconds"]) == 1
    assert rows["LED"]["precision"] == "bf16"
    assert rows["LED"]["batch"] == 2
    assert rows["LED"]["tokens_read"] == 4 * report.settings["model"]["source_length"]  # all documents are longer
    assert rows["LED"]["times"] == pytest.approx(rows["LED"]["median"] / rows[OURS]["median"])
    assert "transformers" in report.versions


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra peers")
def test_a_peer_that_does_not_fit_the_memory_is_a_row_with_its_reason(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(commands: Mapping[str, object], *_: object) -> dict[str, list[ProcessRun]]:
        return {name: [ProcessRun((), 0.1, 1.0, None, None, "")] for name in commands}

    monkeypatch.setattr(workflow, "measure_systems", measured)
    changes = [*SMALL, "bench.peers=[CTranslate2]", "bench.memory=0.001"]
    report = bench_corpus(run_folder, changes, True, no_op, no_op)
    row = report.result.rows["corpus"][-1]
    assert (row["system"], row.note, row.timing) == ("CTranslate2", "more than 0.001 GiB (bench.memory)", None)
    assert "CTranslate2 is left out: more than 0.001 GiB (bench.memory)" in report.result.tables[0].notes


def test_wrong_settings_are_errors(run_folder: Path) -> None:
    with pytest.raises(RecipeError, match=f"bench.peers must name some of {', '.join(NAMES)}, got GPT"):
        bench_corpus(run_folder, ["bench.peers=[GPT]"], True, no_op, no_op)
    with pytest.raises(RecipeError, match=r"trial must be at least 16, the largest of batches, got 2"):
        bench_corpus(run_folder, ["bench.trial=2"], False, no_op, no_op)


def test_an_interrupted_benchmark_ends_its_process(run_folder: Path) -> None:
    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        bench_corpus(run_folder, SMALL, False, no_op, stop)
