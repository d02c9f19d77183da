import pytest

from sumpool.core.decoding import beam

SEARCHES = ("test_beam", "test_constraints")
"""Beginnings of the names of the modules whose tests run with both forms of the search."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of the beam search with hypotheses as values of Python and as tensors."""
    if metafunc.module.__name__.rpartition(".")[2].startswith(SEARCHES):
        metafunc.fixturenames.append("search_form")
        metafunc.parametrize("search_form", ["host", "device"], indirect=True)


@pytest.fixture
def search_form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    if request.param == "device":
        monkeypatch.setattr(beam, "HOST_DEVICES", [])
    return request.param
