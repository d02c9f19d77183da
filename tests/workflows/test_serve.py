import socket

import pytest

from sumpool.workflows.serve import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_free_port_is_taken(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2], timeout=5):
        assert listener.getsockname()[0] == host


def test_a_foreign_address_is_refused() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        listen("192.0.2.1", 0)
