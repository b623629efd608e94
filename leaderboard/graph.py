"""Graphs of bots: who can be compared with whom. Bots are numbers, a graph is a matrix of yes and no."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaderboard.columns import Whole
from leaderboard.comparisons import Comparisons

Matrix = NDArray[np.bool_]


def met(total: Comparisons) -> Matrix:
    """Return who met whom at a table."""
    matrix = np.zeros((total.bots, total.bots), np.bool_)
    matrix[total.first, total.second] = matrix[total.second, total.first] = True
    return matrix


def scored_against(total: Comparisons) -> Matrix:
    """Return who (row) won or tied at least once against whom (column)."""
    matrix = np.zeros((total.bots, total.bots), np.bool_)
    matrix[total.first, total.second] = total.score > 0
    matrix[total.second, total.first] = total.score < total.weight
    return matrix


def groups(matrix: Matrix) -> Whole:
    """Number the groups of bots that can all be reached from one another, in the order of their first bots; one number a bot."""
    numbers = np.full(len(matrix), -1)
    back = np.ascontiguousarray(matrix.T)
    while (open_bots := np.flatnonzero(numbers < 0)).size:
        start = open_bots[0]
        numbers[_reached(matrix, start) & _reached(back, start)] = numbers.max() + 1
    return numbers


def _reached(matrix: Matrix, start: np.intp) -> NDArray[np.bool_]:
    reached = np.zeros(len(matrix), np.bool_)
    reached[start] = True
    news = reached
    while news.any():
        news = matrix[news].any(axis=0) & ~reached
        reached = reached | news
    return reached
