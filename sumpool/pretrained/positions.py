"""More positions than a model has learnt, made of those that it has.

repeat  the learned ones again from the first, as LED was made of BART (Beltagy et al., 2020): a token knows its place
        within a stretch, and two stretches meet in a jump.
flip    every second copy back to front, as in LoBART (Manakul and Gales, 2021): no jump, but places on either side of a
        seam are the same.

Both give the learned positions themselves to the first tokens, so that nothing changes for documents within them.
"""

from typing import Literal

import torch
from torch import Tensor

Extension = Literal["repeat", "flip"]


def extend(learned: Tensor, length: int, how: Extension) -> Tensor:
    """Make as many positions as are wanted.

    Args:
        learned: (positions, dim).
        length: Positions wanted; fewer than there are keeps the first ones.
        how: Name of the way.

    Returns:
        (length, dim).
    """
    places = torch.arange(length, device=learned.device)
    copy, place = places // len(learned), places % len(learned)
    if how == "flip":
        place = torch.where(copy % 2 == 1, len(learned) - 1 - place, place)
    return learned[place]
