"""What is beyond chance, of many figures that are tested alike: a randomisation test, and Student's t as a normal deviate.

Where nothing is wrong, some changes to the results change nothing but luck: all places of a board turned by some seats, or
what was before exchanged with what came after. So they are made at random, board by board, many times over, and a
figure is beyond chance where it exceeds the most extreme of its kind in 19 of 20 such draws. That counts every test that is
made, allows for what the tests share, and asks nothing of the distribution of points. Step-down: what is found no longer
counts among the rest (Westfall and Young, Resampling-Based Multiple Testing, 1993, algorithm 4.1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leaderboard.comparisons import Floats

RISK = 0.04
"""The chance of one false flag or more among all that is tested alike: once in twenty is promised, also for unlike bots."""

_DRAWS = 399
_LEAST_DRAWS = 99
_WORK = 200_000_000  # so many values are drawn at most, where that allows the least draws
_SEED = 12
_ROUNDING = 1e-9

Flags = NDArray[np.bool_]


def beyond_chance(found: Floats, draw: Callable[[np.random.Generator], Floats], values: int) -> Flags:
    """Return which of the figures are beyond chance.

    `found` has how far each is away from what is expected, 0 or more; `draw` gives the same with the results changed at
    random, which takes so many `values`. The same results have always the same draws.
    """
    flags = np.zeros(len(found), np.bool_)
    if not len(found):
        return flags
    random = np.random.default_rng(_SEED)
    order = np.argsort(-found, kind="stable")
    ranked = found[order]
    draws = max(_LEAST_DRAWS, min(_DRAWS, _WORK // max(values, 1)))
    as_extreme = np.ones(len(found), np.int64)
    for _ in range(draws):
        most_of_the_rest = np.maximum.accumulate(draw(random)[order][::-1])[::-1]
        as_extreme += most_of_the_rest >= ranked - _ROUNDING
        if as_extreme[0] > RISK * (draws + 1):  # not even the first: no further draw can change that
            return flags
    flags[order] = np.maximum.accumulate(as_extreme) <= RISK * (draws + 1)
    return flags


def deviates(values: Floats, errors: Floats, freedom: Floats) -> Floats:
    """Return by how many standard deviations a normal value that is as unlikely would be away from 0.

    `errors` are standard errors, of so many degrees of `freedom`; without any nothing is said, and that is 0. Right to
    0.001 from 3 degrees up, by Hill's expansion (Communications of the ACM 13, 1970, algorithm 395).
    """
    known = freedom > 0.5
    freedom = np.where(known, freedom, 1.0)
    scale = freedom - 0.5
    square = scale * np.log1p((values / np.maximum(errors, _ROUNDING)) ** 2 / freedom)
    normal = np.sqrt(square)
    by = 48 * scale**2
    first = normal * (square + 3) / by
    second = normal * (((4 * square + 33) * square + 240) * square + 855) / (10 * by * (by + 0.8 * square**2 + 100))
    return np.where(known, normal + first - second, 0.0)
