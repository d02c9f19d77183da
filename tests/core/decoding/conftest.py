import pytest

from sumpool.core.decoding import beam, device_search

SEARCHES = ("test_beam", "test_beam_over_model")
"""Modules whose tests run with hypotheses on the host and on the device."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of search and sampling with hypotheses as values of Python and as tensors."""
    if metafunc.module.__name__.rpartition(".")[2] in SEARCHES:
        metafunc.parametrize("search_form", ["host", "device"], indirect=True)


@pytest.fixture(autouse=True)  # a fixture that tests do not name is left out unless it is used by all
def search_form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    form: str = getattr(request, "param", "host")
    if form == "device":
        monkeypatch.setattr(beam, "HOST_DEVICES", [])
    return form


@pytest.fixture
def checked_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let documents leave the batch when they have finished, on the device as on the host."""
    monkeypatch.setattr(device_search, "STEPS_BETWEEN_CHECKS", 1)
