from pathlib import Path

import pytest

from sumpool.bench.start import bench_start, joined, measure_stages
from sumpool.errors import ResourceError
from sumpool.io.manifest import SHIPPED
from sumpool.progress import no_op

TEXT = "A pump moves water from one basin to another. It stops when the upper basin is full.\n" * 3


def test_stages_of_a_summary_add_up(tmp_path: Path) -> None:
    path = tmp_path / "pump.txt"
    path.write_text(TEXT)
    spent = measure_stages(("summarize", "--model", "shipped", "--fast", str(path)), no_op)
    work = {"interpreter", "command", "imports", "reading", "ranking", "writing"}
    assert spent.keys() == {*work, "end", "all"}
    for amount in (0, 1):
        assert sum(values[amount] for stage, values in spent.items() if stage != "all") == pytest.approx(
            spent["all"][amount]
        )
        assert all(spent[stage][amount] > 0 for stage in work)
    if Path("/proc/self/status").exists():
        assert 30e6 < spent["reading"][2] <= spent["all"][2] < 300e6
        assert spent["interpreter"][2] < 30e6, "memory of this process"


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(ResourceError, match=r"sumpool summarize nowhere\.txt must end well, got: error: nowhere\.txt"):
        measure_stages(("summarize", "nowhere.txt"), no_op)


def test_words_are_those_of_several_texts() -> None:
    assert joined(["one two\nthree", "four"], 3) == "one two\nthree"


@pytest.mark.slow
def test_the_model_is_a_stage_where_it_may_change_the_summary() -> None:
    report = bench_start(SHIPPED, no_op, no_op, words=400, repeats=2)
    rows = report.result.rows["start"]
    assert [row["command"] for row in rows if row["stage"] == "model"] == ["summarize, RFCs"]
    assert len({row["command"] for row in rows}) == 5
    assert all(len(row.timing.seconds) == 2 and row["processor"] is not None for row in rows if row.timing)
    assert "processor s" in report.tables()[1].headings()
