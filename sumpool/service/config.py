"""Limits of the HTTP service."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServiceLimits:
    """Limits on the requests of a client.

    Attributes:
        body_bytes: Bytes of the body of a request.
        body_seconds: Seconds in which the body must have come.
        documents: Documents of a request.
        waiting: Requests that wait for the model; one more is refused.
        seconds: Seconds until the summaries must be there.
        batch_documents: Documents of several requests that are summarised together.
    """

    body_bytes: int = 32 * 2**20
    body_seconds: float = 30.0
    documents: int = 64
    waiting: int = 64
    seconds: float = 300.0
    batch_documents: int = 8


DEFAULT_LIMITS = ServiceLimits()
