"""The Bradley-Terry model: strengths that make the comparisons most likely, by Newton's method.

A bot of strength a beats one of strength b with probability 1 / (1 + exp(b - a)). Each bot also draws once with a virtual
bot of strength 0, which keeps strengths finite where a bot won or lost everything. Strengths are in natural units; 400 / ln 10
of them are Elo. Everything here works on several weightings of the same comparisons at once, as a bootstrap needs them.
"""

from __future__ import annotations

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats

ELO = 400 / np.log(10)
"""Elo of one unit of strength."""

_PRECISE = 1e-9
_STEPS = 100


def expected(difference: Floats) -> Floats:
    """Return the probability to win with this much more strength."""
    return 0.5 + 0.5 * np.tanh(0.5 * difference)


def fit(first: Whole, second: Whole, weight: Floats, score: Floats, draws: Floats, start: Floats) -> Floats:
    """Return the likeliest strengths, by weighting and bot, from what each two bots (first < second) did, by weighting and pair.

    The weight is how many comparisons' worth, the score what the first bot won of it, draws the weights of the virtual draws.
    The step is shortened to log(1 + d) / d of itself, d being how far it moves two bots apart at most: with that, Newton's
    method converges from anywhere, and still doubles its digits at the end.
    """
    strengths = start
    for _ in range(_STEPS):
        step = np.linalg.solve(
            information(first, second, weight, draws, strengths),
            gradient(first, second, weight, score, draws, strengths)[..., None],
        )[..., 0]
        apart = 2 * np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
        strengths = strengths + step * np.where(apart > _PRECISE, np.log1p(apart) / np.maximum(apart, _PRECISE), 1.0)
        if apart.max(initial=0.0) < _PRECISE:
            break
    return strengths


def gradient(first: Whole, second: Whole, weight: Floats, score: Floats, draws: Floats, strengths: Floats) -> Floats:
    """Return how much more each bot scored than its strength makes one expect."""
    surplus = np.zeros((*strengths.shape, strengths.shape[-1]))
    surplus[..., first, second] = score - weight * expected(strengths[..., first] - strengths[..., second])
    return np.asarray(surplus.sum(axis=-1) - surplus.sum(axis=-2) + draws * (0.5 - expected(strengths)))


def information(first: Whole, second: Whole, weight: Floats, draws: Floats, strengths: Floats) -> Floats:
    """Return the information that the comparisons hold about the strengths: the negative second derivatives."""
    known = weight * slope(strengths[..., first] - strengths[..., second])
    matrix = np.zeros((*strengths.shape, strengths.shape[-1]))
    matrix[..., first, second] = -known
    matrix[..., second, first] = -known
    diagonal = np.arange(strengths.shape[-1])
    matrix[..., diagonal, diagonal] = draws * slope(strengths) - matrix.sum(axis=-1)
    return matrix


def slope(difference: Floats) -> Floats:
    """Return how fast the probability to win grows with the difference in strength."""
    probability = expected(difference)
    return probability * expected(-difference)
