"""What a benchmark asks of a system that it compares, ours or a peer's."""

from typing import Protocol

from sumpool.bench.systems.workload import Documents


class Contender(Protocol):
    """A system with random weights that reads, learns and writes; `Subject` is ours.

    A system that cannot do one of the works raises NotImplementedError with the reason, before it does anything.
    """

    def encode(self, documents: Documents) -> None:
        """Read the documents."""

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Read the documents and write `tokens` tokens about each, no fewer and no more."""
