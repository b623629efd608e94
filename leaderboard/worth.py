"""What playing the same deals at several tables was worth, in deals that are independent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leaderboard.columns import Columns
from leaderboard.estimate import Estimate, half_width
from leaderboard.sides import Sides

LEAST_BOARDS = 8
"""On fewer boards nothing is said."""

_GROUPS = 20
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Worth:
    """What playing the same deals at several tables was worth."""

    tables: float
    """How many a board has."""
    gain: Estimate
    """How many independent deals tell as much as one of these; above 1 the tables cancel luck."""
    effective: float
    """So many independent deals would have told as much as all that were played."""


def find_worth(columns: Columns, sides: Sides) -> Worth | None:
    """Compare how much a bot's mean over a board's tables varies with how much it would if every table were independent.

    The error is a jackknife's over groups of boards.
    """
    keys = sides.board * len(columns.bots) + columns.bot
    count = np.bincount(keys)
    played = np.flatnonzero(count)
    if columns.boards < LEAST_BOARDS or count[played].max() < 2:
        return None
    luck = sides.points - sides.explained
    single = np.bincount(keys, luck**2)[played] / count[played] ** 2
    whole = (np.bincount(keys, luck)[played] / count[played]) ** 2
    groups = min(_GROUPS, columns.boards)
    group = played // len(columns.bots) % groups
    alone, together = (np.bincount(group, values, minlength=groups) for values in (single, whole))
    left = together.sum() - together
    if left.min() < _ROUNDING:
        return None
    gain = float(alone.sum() / together.sum())
    error = half_width(math.sqrt((groups - 1) * float(np.var((alone.sum() - alone) / left))), groups - 1)
    return Worth(float(len(columns.board) / columns.boards), Estimate(gain, error), float(columns.deals.sum()) * gain)
