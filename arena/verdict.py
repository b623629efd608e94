"""What results decide: what a schedule that grows plays next, and what a comparison has answered.

The plans of schedules that go by ratings are made here, since `arena.tournament` knows no ratings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arena.adaptive import AdaptivePlan, Lead, Order, Strengths, describe, known_order
from arena.compare import BUDGET, ComparisonPlan, Finding, other_bot
from arena.errors import BadInput
from arena.incremental import completed_schedule
from arena.match import Match
from arena.plan import FixedPlan, Plan
from arena.results import Result
from arena.schedule import make_schedule
from arena.settings import Comparison, Settling, Substitution, Tournament, game_of
from arena.tournament import disqualified_bots, fixed_plan
from leaderboard.columns import Columns
from leaderboard.covariance import NORMAL_95
from leaderboard.ratings import rate
from leaderboard.sequential import Look, SequentialTest, board_scores

if TYPE_CHECKING:
    from arena.store import Store


def plan_of(tournament: Tournament, *, budget: int = BUDGET) -> Plan:
    """Return the plan that a tournament's settings ask for; the budget, in boards, is that of a comparison."""
    settings = tournament.settings
    if settings.substitution is not None:
        return FixedPlan(())  # its matches are those of another tournament, and in the store since it began
    if settings.comparison is not None:
        return _comparison_plan(tournament, settings.comparison, budget)
    if settings.settling is not None:
        return _adaptive_plan(tournament, settings.settling)
    return fixed_plan(tournament)


def stored_plan(store: Store, tournament: Tournament, *, budget: int = BUDGET) -> Plan:
    """Return the plan of a stored tournament, also of one that keeps results, or plays another one's deals again."""
    substitution = tournament.settings.substitution
    if kept := [match for match in store.matches(tournament.id) if match.origin is not None]:
        return FixedPlan(completed_schedule(tournament, kept))
    if substitution is None:
        return plan_of(tournament, budget=budget)
    return FixedPlan(replayed_matches(store, store.tournament(substitution.tournament), substitution))


def replayed_matches(store: Store, source: Tournament, substitution: Substitution) -> tuple[Match, ...]:
    """Return the matches of a finished tournament in which a bot played, with the stand-in in its place.

    Matches that were dealt anew after a fault of the arena, or kept from another tournament, are left out: their deals have
    other names. Raises BadInput where there is nothing to play again.
    """
    bot, stand_in = substitution.bot, substitution.stand_in
    names = [entry.name for entry in source.entries]
    if bot not in names:
        raise BadInput(f"no bot {bot} played in tournament {source.id}; these did: {', '.join(names)}")
    if source.finished is None:
        raise BadInput(f"tournament {source.id} is not finished: play it to its end first")
    anew = store.attempts(source.id)
    played = [match for match in store.matches(source.id, done=True) if bot in match.line_up]
    own = [match for match in played if match.number not in anew and match.origin is None]
    if not own and (origins := {match.origin[0]: None for match in played if match.origin}):
        where = " or ".join(f"--tournament {origin}" for origin in origins)
        raise BadInput(f"all that {bot} played in tournament {source.id} was kept from others: name one with {where}")
    return tuple(
        replace(match, line_up=tuple(stand_in if name == bot else name for name in match.line_up)) for match in own
    )


# --- Answers ---


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tournament that is to settle something has come to so far."""

    open: tuple[tuple[str, str], ...]
    """The comparisons that are not settled, the bot that is rated higher first."""
    ties: tuple[tuple[str, str], ...]
    """Those that were settled by declaring a tie."""
    text: str
    """All of it in a sentence."""

    @property
    def settled(self) -> bool:
        """Whether nothing is open."""
        return not self.open


def find_verdict(store: Store, tournament: Tournament, results: Columns) -> Verdict | None:
    """Return what a stored tournament has settled, by its results; None where it was to settle nothing."""
    settling = tournament.settings.settling
    if tournament.settings.comparison is not None:
        answer = comparison_answer(store, tournament)
        pair = (answer.bot, answer.other)
        undecided = answer.stronger is None
        found = "Undecided" if undecided else f"{answer.bot} is {'' if answer.stronger else 'not '}stronger"
        return Verdict((pair,) * undecided, (), f"{found}: {look_text(*pair, answer.look)}.")
    if settling is None:
        return None
    names = [entry.name for entry in tournament.entries]
    strengths, known = known_order(rated_strengths(results), names, disqualified_bots(store, tournament), settling)
    by_order = {order: tuple((one.bot, one.other) for one in known if one.order is order) for order in Order}
    text = describe(strengths.bots[: settling.top], known, results.boards)
    return Verdict(by_order[Order.OPEN], by_order[Order.TIED], f"{text[0].upper()}{text[1:]}.")


# --- Adaptive schedules ---


def rated_strengths(results: Iterable[Result] | Columns) -> Strengths:
    """Return what the final ratings say of all bots: their order, and how sure each lead is."""
    ratings = rate(results)

    def lead(bot: str, other: str) -> Lead | None:
        elo, points = ratings.difference(bot, other), ratings.points_difference(other, bot)
        if elo is None or points is None:
            return None
        return Lead(NORMAL_95 * elo[0] / elo[1], points[0], points[1] / NORMAL_95)

    rated = [
        (-round(one.elo, 6), one.points_per_deal or 0.0, one.bot) for one in ratings.ratings if one.elo is not None
    ]
    return Strengths(tuple(bot for _, _, bot in sorted(rated)), lead)


def _adaptive_plan(tournament: Tournament, settling: Settling) -> Plan:
    game, key = game_of(tournament.settings), tournament.seed.key
    bots = [entry.name for entry in tournament.entries]
    opening = make_schedule(tournament.settings, game, bots, key)
    return AdaptivePlan(opening, bots, game=game, key=key, settling=settling, rate=rated_strengths)


# --- Comparisons ---


@dataclass(frozen=True, slots=True)
class Answer:
    """What a comparison has found so far."""

    bot: str
    other: str
    look: Look
    stronger: bool | None
    """Whether the bot is stronger than the other; None while that is undecided."""
    disqualified: tuple[str, ...]


def comparison_answer(store: Store, tournament: Tournament) -> Answer:
    """Return what a stored comparison says; raise BadInput for a tournament that is none."""
    comparison = tournament.settings.comparison
    if comparison is None:
        raise BadInput(f"tournament {tournament.id} is no comparison: `arena leaderboard` shows it")
    other = other_bot(tournament, comparison)
    look = _look(comparison, other, store.results(tournament.id))
    out = disqualified_bots(store, tournament)
    stronger = comparison.bot not in out if out else look.stronger
    return Answer(comparison.bot, other, look, stronger, tuple(sorted(out)))


def look_text(bot: str, other: str, look: Look) -> str:
    """Say in a line what a look at a comparison shows, and how far the answer is."""
    text = (
        f"after {look.boards:,} boards {bot} is {round(look.elo):+d} ±{look.error:.0f} Elo against {other}; "
        f"log-likelihood ratio {look.ratio:+.2f} of {look.lower:+.2f} or {look.upper:+.2f}"
    )
    return text if look.stronger is not None else f"{text}; about {look.needed:,} boards still needed"


def _comparison_plan(tournament: Tournament, comparison: Comparison, budget: int) -> Plan:
    settings = tournament.settings
    bot, other = comparison.bot, other_bot(tournament, comparison)

    def test(results: Iterable[Result]) -> Finding:
        look = _look(comparison, other, results)
        return Finding(look.stronger is not None, look_text(bot, other, look))

    return ComparisonPlan(bot, other, game=game_of(settings), placed=settings.format, test=test, budget=budget)


def _look(comparison: Comparison, other: str, results: Iterable[Result]) -> Look:
    test = SequentialTest(comparison.elo0, comparison.elo1, comparison.alpha, comparison.beta)
    return test.look(board_scores(results, comparison.bot, other))
