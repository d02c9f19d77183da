"""Parts of the documents that figures are given for, each by itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def slices(leaks: Sequence[float] | NDArray[np.float64], low_leak: float) -> dict[str, NDArray[np.bool_]]:
    """Tell which documents are in a slice: all of them, and those with references that were not copied from them.

    Args:
        leaks: Share of the runs of eight words of each reference that stand in its document; NaN where that is unknown.
        low_leak: What a reference that was not copied keeps below.

    Returns:
        Members (documents,) of "all" and "low-leak"; a slice without documents is left out.
    """
    found = {"all": np.ones(len(leaks), dtype=bool), "low-leak": np.asarray(leaks) < low_leak}
    return {title: members for title, members in found.items() if members.any()}
