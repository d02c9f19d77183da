"""Pytest plugin that records which tests execute which lines, and runs selected tests.

The environment variable `PLANTED_FAULTS` names a JSON file with a `Request`. While coverage is measured, the context of
the lines is the identifier of the test, or of the fixture where several tests share it. Subprocesses find it in
`PLANTED_FAULTS_CONTEXT`.
"""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TypedDict

import pytest

MEMORY = 20 << 30
"""Bytes that a process may allocate: a fault may let a list grow forever. All fast tests in one process take 14 GiB."""
_CONTEXT = "PLANTED_FAULTS_CONTEXT"


class Request(TypedDict):
    """Tests to run.

    Attributes:
        log: File that receives an event a line: a name, the identifier of a test, and more.
        only: Identifiers of the tests to run among those that were collected; None for all.
        skipped: Identifiers of others to leave out.
    """

    log: str
    only: list[str] | None
    skipped: list[str]


def _request() -> Request:
    request: Request = json.loads(Path(os.environ["PLANTED_FAULTS"]).read_text("utf-8"))
    return request


def _log(event: str, test: str, *details: object) -> None:
    """Append an event; under xdist, the controller alone repeats the events of the tests."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(_request()["log"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([event, test, *details]) + "\n")


def _switch(context: str) -> None:
    os.environ[_CONTEXT] = context
    if "COVERAGE_PROCESS_START" in os.environ:
        from coverage import Coverage

        measured = Coverage.current()
        assert measured is not None
        measured.switch_context(context)


def _fixture_context(fixture: "pytest.FixtureDef[object]") -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def pytest_configure() -> None:
    """Limit the memory of the process and those that it starts."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the requested tests, in the order in which they were collected."""
    request = _request()
    only = {item.nodeid for item in items} if request["only"] is None else set(request["only"])
    only.difference_update(request["skipped"])
    items[:] = [item for item in items if item.nodeid in only]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Log the tests that will run."""
    for item in session.items:
        _log("collected", item.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Log a file that cannot be imported."""
    if report.failed:
        _log("failed", report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Attribute the lines to the test."""
    _switch(item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: "pytest.FixtureDef[object]") -> Generator[None, object, object]:
    """Attribute the lines to the fixture where several tests share it; its teardown belongs to the last of them."""
    if fixturedef.scope == "function":
        return (yield)
    context = _fixture_context(fixturedef)
    before = os.environ.get(_CONTEXT, "")
    _switch(context)
    try:
        return (yield)
    finally:
        _switch(before)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Report the shared fixtures that the test depends on."""
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information else ()
    shared = [_fixture_context(each) for group in definitions for each in group if each.scope != "function"]
    item.user_properties.append(("fixtures", shared))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Log the test that may never end."""
    _log("started", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Log the outcome of a phase of a test."""
    fixtures = dict(report.user_properties).get("fixtures", [])
    _log("failed" if report.failed else report.when or "", report.nodeid, report.duration, fixtures)
