"""Figures of reliability: one module each, whose name begins with the identifier in lower case.

A module has the constants of `Figure` and a function `measure(count, folder)`, which repeats its check `count` times in
an empty folder. Random choices come from a seeded generator, so that a count always makes the same choices.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast


class Measured(NamedTuple):
    """Result of a check.

    Attributes:
        text: The measured values, for the table.
        is_met: Whether they meet the figure.
        cases: Number of cases.
    """

    text: str
    is_met: bool
    cases: int


class Figure(Protocol):
    """Module of a figure."""

    ID: str
    """Identifier, such as "B1"."""
    FIGURE: str
    """Figure to meet."""
    NIGHT: int
    """Count of `make torture`."""
    QUICK: int
    """Count of the test, which takes a few seconds; 0 if the figure takes minutes and a machine to itself."""

    def measure(self, count: int, folder: Path) -> Measured:
        """Repeat the check in an empty folder."""
        ...


def wait(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds, at most for some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it must not take that long"
        time.sleep(0.005)


def wait_for_lines(path: Path, count: int, process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Wait until a process has written lines to a file, or has ended."""
    wait(
        lambda: process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= count),
        seconds,
    )


ROOT = Path(__file__).parents[2]


@dataclass
class TestedFigure:
    """Figure that tests assert.

    Attributes:
        ID: Identifier, as that of `Figure`.
        FIGURE: Figure to meet.
        tests: Files, folders and nodes for pytest.
        NIGHT: 1: the tests have their own counts.
        QUICK: 1.
    """

    ID: str
    FIGURE: str
    tests: tuple[str, ...]
    NIGHT: int = 1
    QUICK: int = 1

    def measure(self, count: int, folder: Path) -> Measured:
        """Run the tests in a process of its own."""
        command = [sys.executable, "-m", "pytest", "--slow", "-p", "no:cacheprovider", f"--basetemp={folder / 'tests'}"]
        finished = subprocess.run([*command, *self.tests], cwd=ROOT, capture_output=True, text=True, check=False)
        outcomes = {name: int(number) for number, name in re.findall(r"(\d+) (passed|failed|error)", finished.stdout)}
        passed = outcomes.get("passed", 0)
        text = f"{passed:,} of {sum(outcomes.values()):,} tests"
        return Measured(text, finished.returncode == 0 and passed > 0, passed)


TESTED: tuple[TestedFigure, ...] = (
    TestedFigure(
        "G1",
        "hostile texts, ids and names in reports as HTML, Markdown, LaTeX and CSV: no element, attribute "
        "or address of theirs, one row each, and no formula",
        (
            "tests/evaluation/test_tables.py",
            "tests/inference/test_rendering.py",
            "tests/text/test_cleaning.py",
        ),
    ),
    TestedFigure(
        "E1",
        "documents alone, in batches, in another order, beside one ten times as long: same text and scores",
        (
            "tests/inference/test_generation.py::test_batch_mates_change_no_bit",
            "tests/inference/test_model_summaries.py::test_documents_are_batched_where_their_mates_change_no_sum",
        ),
    ),
    TestedFigure(
        "G2",
        "control characters, markup and line feeds of ids, names and summaries: printed inert",
        ("tests/cli/test_console.py", "tests/cli/test_streams.py"),
    ),
    TestedFigure("G3", "invisible and bidirectional characters: removed and counted", ("tests/text/test_cleaning.py",)),
    TestedFigure(
        "G4",
        "ids as paths, devices and 300 characters: no file outside the folder",
        ("tests/io/test_file_names.py", "tests/inference/test_summary_file.py"),
    ),
    TestedFigure(
        "A3",
        "a changed recipe, other data, another version: refused by the names of the differences",
        tuple(
            f"tests/{name}"
            for name in (
                "workflows/test_train.py::test_a_changed_recipe_is_refused_by_the_names_of_its_changes",
                "workflows/test_train.py::test_settings_that_no_update_depends_on_may_change",
                "workflows/test_train.py::test_other_data_is_refused",
                "workflows/test_train.py::test_the_same_data_in_another_place_is_the_same",
                "io/test_manifest.py::test_a_manifest_of_a_newer_version_is_named_as_such",
            )
        ),
    ),
    TestedFigure(
        "E2",
        "values, ids and sentence numbers in the padding: states, losses and gradients bit-identical",
        ("tests/core/model/test_summarizer.py", "-k", "padding"),
    ),
    TestedFigure(
        "E3",
        "cached against uncached decoding, chunked against whole encoding: within 1e-5 in fp32",
        (
            "tests/core/model/test_summarizer.py::test_steps_with_cache_equal_scoring_whole_summaries",
            "tests/core/model/test_chunked_encoding.py",
        ),
    ),
    TestedFigure(
        "E4",
        "gradients of all own operations within 1e-5 in float64, 0 at padding",
        (*(f"tests/core/{name}" for name in ("attention", "pooling", "output", "cross_attention", "nn")), "-k", "grad"),
    ),
    TestedFigure(
        "E6",
        "eight documents: loss below 0.05 and exact copies; none after the summaries are exchanged",
        ("tests/training/test_overfit.py",),
    ),
    TestedFigure(
        "F1",
        "NaN and infinity in a weight, gradient or validation: stopped before the update, checkpoints finite",
        ("tests/training/test_fit.py", "tests/training/test_update.py", "-k", "non_finite"),
    ),
    TestedFigure(
        "F4",
        "two runs in one folder: the second is refused by the process of the first; free once that is killed",
        (
            "tests/workflows/test_train.py::test_two_runs_in_one_folder_are_one_too_many",
            "tests/runs/test_run_folder.py",
            "tests/io/test_lock.py::test_a_killed_process_releases_its_lock",
        ),
    ),
    TestedFigure(
        "H1",
        "texts of training in validation and test: counted by prepare, refused by train",
        (
            "tests/data/test_prepare.py::test_overlap_of_splits_is_measured",
            "tests/data/test_report.py",
            "tests/workflows/test_train.py::test_texts_that_are_also_in_training_are_refused",
        ),
    ),
    TestedFigure(
        "F3",
        "killed worker processes, closed streams, paths that cannot be written: an error, no hang, no process left",
        (
            "tests/data/test_processes.py",
            "tests/documents/test_worker.py",
            "tests/cli/test_streams.py",
            "tests/io/test_atomic.py::test_a_path_that_cannot_be_written_is_no_full_disk",
            "tests/io/test_lock.py::test_a_folder_that_cannot_be_written_is_named",
            "tests/inference/test_summary_file.py::test_a_file_that_cannot_be_written_is_named",
            "tests/data/test_prepared_folder.py::test_read_only_data_is_used_without_a_lock",
        ),
    ),
)


def figures() -> list[Figure]:
    """Import the modules of figures, in order of their identifiers."""
    paths = sorted(Path(__file__).parent.glob("[a-h][0-9]_*.py"))
    return [cast(Figure, import_module(f"tests.torture.{path.stem}")) for path in paths]
