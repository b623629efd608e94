"""Hearts: the games hearts-classic, hearts-special and hearts-standard (rules H-01 to H-33 and S-01 to S-09).

All three are one set of rules with options, and differ in the options' defaults; only Special adds to how a game ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeVar

from arena.cards import STANDARD_DECK, SUIT_SETS, Card, Suit
from arena.errors import BadGame
from arena.game import Game, Option, OptionValue, PassDirection
from arena.games.options import complete_options, end_options

QUEEN_POINTS: Final = 13
JACK_POINTS: Final = -10
ALL_POINTS: Final = 26
"""What the thirteen hearts and the queen of spades cost together."""

_CLUBS = SUIT_SETS[Suit.CLUBS]
_TWO_OF_CLUBS = 1 << Card("2C")
_HEARTS = SUIT_SETS[Suit.HEARTS] & ~(1 << Card("WH"))
_QUEEN = 1 << Card("QS")
_JACK = 1 << Card("JD")
_MOON = _HEARTS | _QUEEN
_CYCLE = (PassDirection.LEFT, PassDirection.RIGHT, PassDirection.ACROSS, PassDirection.NONE)


class Hearts(Game):
    """Hearts for four, each for himself."""

    @cached_property
    def _barred(self) -> int:
        """What may not be discarded on the first trick (H-12, H-13) unless nothing else is held (H-14)."""
        return _QUEEN if self.options["points_on_first_trick"] else _MOON

    @property
    def summary(self) -> str:
        """The rules in a few plain sentences."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        options = self.options
        yield "Four players get 13 cards each."
        if options["passing"]:
            yield f"Each passes {options['cards_passed']}: left, right, across, then not at all, by turns."
        first = "any of his clubs" if options["any_club_leads"] else "it"
        yield f"The holder of the two of clubs leads {first}; then the taker of a trick leads the next."
        yield "Follow suit if you can; the highest card of the suit led takes the trick, there is no trump."
        barred = "the queen of spades" if options["points_on_first_trick"] else "hearts and the queen of spades"
        yield f"On the first trick {barred} may not be played unless nothing else is held."
        breaking = "a heart or the queen of spades" if options["queen_breaks_hearts"] else "a heart"
        yield f"Hearts may not be led before {breaking} has been played, unless nothing else is held."
        if options["hearts_before_queen"]:
            yield "Who holds nothing but hearts and the queen of spades may lead a heart all the same."
        yield "Each heart costs 1 point and the queen of spades 13."
        if options["jack_of_diamonds"]:
            yield "The jack of diamonds takes 10 points off."
        if options["moon"] == "off":
            yield "Who takes all hearts and the queen gets 26 points off, and the others none."
        else:
            yield f"Who takes all hearts and the queen gets none, and the others {options['moon']} each."
        yield self._end

    @property
    def _end(self) -> str:
        if self.deals is not None:
            return f"After {self.deals} deals the lowest total wins."
        return f"Once a total is {self.target} or more after a deal, the lowest wins; equals share the win."

    def first_leader(self, hands: Sequence[int], number: int) -> int:
        """Return the holder of the two of clubs (H-10).

        Where it isn't dealt, in short hands, the lowest club stands in; without any club the seat after the dealer leads.
        """
        dealt = 0
        for seat, hand in enumerate(hands):
            if hand & _TWO_OF_CLUBS:
                return seat
            dealt |= hand & _CLUBS
        lowest = dealt & -dealt
        return next((seat for seat, hand in enumerate(hands) if hand & lowest), number % self.players)

    def free_set(self, hand: int, following: bool, first_trick: bool, broken: bool) -> int:
        """Return what may be led or discarded (H-11 to H-24)."""
        if following:
            return hand & ~self._barred or hand if first_trick else hand
        if first_trick and (clubs := hand & _CLUBS):
            return clubs if self.options["any_club_leads"] else clubs & -clubs
        if broken:
            return hand
        others = hand & ~_HEARTS
        if others == _QUEEN and self.options["hearts_before_queen"]:
            return hand
        return others or hand

    def pile_points(self, pile: int) -> int:
        """Return a point for each heart, 13 for the queen (H-26), and -10 for the jack where the option says so."""
        points = (pile & _HEARTS).bit_count() + (QUEEN_POINTS if pile & _QUEEN else 0)
        return points + JACK_POINTS if pile & _JACK and self.options["jack_of_diamonds"] else points

    def score_sets(self, piles: Sequence[int]) -> tuple[int, ...]:
        """Return the piles' points, after a moon as the option says (H-27). The moon is found by its cards (H-28)."""
        points = tuple(map(self.pile_points, piles))
        for shooter, pile in enumerate(piles):
            if pile & _MOON == _MOON:
                return self._score_moon(points, shooter)
        return points

    def _score_moon(self, points: tuple[int, ...], shooter: int) -> tuple[int, ...]:
        moon = self.options["moon"]
        own, others = (-2 * ALL_POINTS, 0) if moon == "off" else (-ALL_POINTS, int(moon or 0))
        return tuple(count + (own if seat == shooter else others) for seat, count in enumerate(points))


class Special(Hearts):
    """Hearts that plays on while the lowest total is shared, or while another player has just had a perfect deal."""

    def why_not_over(self, totals: Sequence[int], scores: Sequence[int]) -> str:
        """Return `equal_points` (S-03), `perfect_round` (S-04) or nothing (S-05)."""
        lowest = min(totals)
        if totals.count(lowest) > 1:
            return "equal_points"
        leader = totals.index(lowest)
        perfect = any(score == 0 for side, score in enumerate(scores) if side != leader)
        return "perfect_round" if perfect and scores[leader] > 0 else ""

    @property
    def _end(self) -> str:
        if self.deals is not None:
            return super()._end
        return (
            f"Once a total is {self.target} or more after a deal, the lowest wins, but another deal is played while "
            "two share the lowest, or if in this deal the leader got points and somebody else got none."
        )


def classic(players: int, partners: bool, options: Mapping[str, OptionValue]) -> Hearts:
    """Return hearts-classic with these options; raise BadGame where it doesn't allow something."""
    known = _options(moon=13, points_on_first_trick=True)
    return _make(Hearts, "hearts-classic", known, players=players, partners=partners, given=options)


def special(players: int, partners: bool, options: Mapping[str, OptionValue]) -> Special:
    """Return hearts-special with these options; raise BadGame where it doesn't allow something."""
    known = _options(moon=13, points_on_first_trick=True)
    return _make(Special, "hearts-special", known, players=players, partners=partners, given=options)


def standard(players: int, partners: bool, options: Mapping[str, OptionValue]) -> Hearts:
    """Return hearts-standard with these options; raise BadGame where it doesn't allow something."""
    known = _options(moon=26, points_on_first_trick=False)
    return _make(Hearts, "hearts-standard", known, players=players, partners=partners, given=options)


def _options(*, moon: int, points_on_first_trick: bool) -> tuple[Option, ...]:
    def flag(name: str, default: bool, meaning: str) -> Option:
        return Option(name, default, meaning, choices=(True, False))

    return (
        *end_options(target=100),
        Option("moon", moon, "what a moon costs each opponent; off: the shooter gets 26 off", choices=(13, 26, "off")),
        flag("queen_breaks_hearts", False, "the queen of spades breaks hearts too"),
        flag("points_on_first_trick", points_on_first_trick, "hearts may be discarded on the first trick"),
        flag("any_club_leads", False, "the holder of the two of clubs may lead any club"),
        flag("hearts_before_queen", False, "a heart may be led instead of a forced queen of spades"),
        flag("jack_of_diamonds", False, "the jack of diamonds takes 10 points off"),
        flag("passing", True, "cards are passed, but not in every fourth deal"),
        Option("cards_passed", 3, "how many", numbers=range(1, 14), only_if=("passing", True)),
    )


HeartsKind = TypeVar("HeartsKind", bound=Hearts)


def _make(
    kind: type[HeartsKind],
    name: str,
    known: tuple[Option, ...],
    *,
    players: int,
    partners: bool,
    given: Mapping[str, OptionValue],
) -> HeartsKind:
    if players != 4:
        raise BadGame(f"{name} is for 4 players, not {players}")
    if partners:
        raise BadGame(f"{name} has no partners: each plays for himself, so sides must be single")
    options = complete_options(name, known, given)
    return kind(
        name=name,
        players=players,
        partners=partners,
        options=options,
        known_options=known,
        deck=STANDARD_DECK,
        pass_cycle=_CYCLE if options["passing"] else (PassDirection.NONE,),
        cards_passed=int(options["cards_passed"] or 0),
        breaking=_HEARTS | _QUEEN if options["queen_breaks_hearts"] else _HEARTS,
        always_legal=0,
        totals_can_fall=options["moon"] == "off" or options["jack_of_diamonds"] is True,
    )
