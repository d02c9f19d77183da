"""How many threads share an operation."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Let one thread do all operations within it, where that is wanted.

    Threads that share an operation wait for the last of them at its end. To load a model, or to take a step of a small
    one, is hundreds of operations of some microseconds: on quiet cores more threads make them little faster, and where
    another program keeps one of two cores busy, two to fifteen times as slow.
    """
    before = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
